"""Drawings of graphs as SVG: nodes in a column, edges that skip nodes as arcs beside it.

LangGraph's own drawings need mermaid (a script in a page, or a server) or a C library.
"""

from typing import Any

from langgraph.graph.state import CompiledStateGraph
from markupsafe import Markup

_ROW, _HALF, _BOX = 52, 78, 30
"""Pixels from node to node, half the width of a box, and its height."""
_INK = "#777777"
"""Readable in light and dark themes."""


class Drawing:
    """A drawing of a compiled graph, for a notebook. Conditional edges are dashed."""

    def __init__(self, graph: CompiledStateGraph[Any, Any, Any, Any]) -> None:
        drawn = graph.get_graph()
        self.nodes = [node.name.strip("_") for node in drawn.nodes.values()]
        place = {name: number for number, name in enumerate(drawn.nodes)}
        self.edges = [(place[edge.source], place[edge.target], edge.conditional) for edge in drawn.edges]

    def __repr__(self) -> str:
        following = {
            name: [self.nodes[target] for source, target, _ in self.edges if source == number]
            for number, name in enumerate(self.nodes)
        }
        return "\n".join(f"{name:15} → {', '.join(targets)}" for name, targets in following.items() if targets)

    def _repr_svg_(self) -> str:
        reach = max((_bend(source, target) for source, target, _ in self.edges), default=0)
        middle, height = reach + _HALF, _ROW * len(self.nodes)
        head = (
            '<svg xmlns="http://www.w3.org/2000/svg" width="{}" height="{}" font-family="sans-serif" font-size="13">'
            '<defs><marker id="head" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" '
            'orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="{}"/></marker></defs>'
        )
        parts = [Markup(head).format(2 * middle, height, _INK)]
        parts += [_arrow(middle, *edge) for edge in self.edges]
        parts += [_box(middle, number, name) for number, name in enumerate(self.nodes)]
        return str(Markup("\n").join([*parts, Markup("</svg>")]))


def _bend(source: int, target: int) -> int:
    """Return the width of an arc in pixels; 0 between neighbours."""
    return 0 if target - source == 1 else 16 + 18 * abs(target - source)


def _arrow(middle: int, source: int, target: int, conditional: bool) -> Markup:
    start, end = (_ROW * number + _ROW // 2 for number in (source, target))
    if not _bend(source, target):
        path = f"M{middle},{start + _BOX // 2} L{middle},{end - _BOX // 2}"
    else:
        # Down on the right, back up on the left; heads and tails do not overlap.
        side, gap = (1, 6) if target > source else (-1, -6)
        x = middle + side * _HALF
        # A cubic Bézier curve reaches three quarters of the way to its control points.
        out = x + side * (_bend(source, target) - 4) * 4 // 3
        path = f"M{x},{start + gap} C{out},{start + gap} {out},{end - gap} {x},{end - gap}"
    return Markup('<path d="{}" fill="none" stroke="{}" stroke-dasharray="{}" marker-end="url(#head)"/>').format(
        path, _INK, "4 3" if conditional else "none"
    )


def _box(middle: int, number: int, name: str) -> Markup:
    y = _ROW * number + _ROW // 2
    box = '<rect x="{}" y="{}" width="{}" height="{}" rx="8" fill="#0072B2" fill-opacity="0.15" stroke="{}"/>'
    text = '<text x="{}" y="{}" text-anchor="middle" fill="{}">{}</text>'
    return Markup(box).format(middle - _HALF, y - _BOX // 2, 2 * _HALF, _BOX, _INK) + Markup(text).format(
        middle, y + 5, _INK, name
    )
