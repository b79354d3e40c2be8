"""A graph drawn without a network and without a browser: its nodes in a column, what skips some in arcs beside it.

LangGraph's own drawings want mermaid (a page with a script, or a server that makes the picture) or a library of C.
"""

from typing import Any

from langgraph.graph.state import CompiledStateGraph
from markupsafe import Markup

_ROW, _HALF, _BOX = 52, 78, 30
"""From node to node, half a box's width, and its height."""
_INK = "#777777"
"""Reads on light and on dark ground alike."""


class Drawing:
    """A drawing of a compiled graph, for a notebook. What depends on the state is dashed.

    Args:
        graph: The graph.
    """

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
        """What a notebook shows."""
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
    """How far an arc goes out; none between neighbours."""
    distance = abs(target - source)
    return 0 if target - source == 1 else 16 + 18 * distance


def _arrow(middle: int, source: int, target: int, conditional: bool) -> Markup:
    start, end = (_ROW * number + _ROW // 2 for number in (source, target))
    if not _bend(source, target):
        path = f"M{middle},{start + _BOX // 2} L{middle},{end - _BOX // 2}"
    else:
        # Down on the right, and back up on the left; what comes in is kept apart from what goes out.
        side, apart = (1, 6) if target > source else (-1, -6)
        x = middle + side * _HALF
        # A cubic curve goes three quarters of the way to its handles.
        out = x + side * (_bend(source, target) - 4) * 4 // 3
        path = f"M{x},{start + apart} C{out},{start + apart} {out},{end - apart} {x},{end - apart}"
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
