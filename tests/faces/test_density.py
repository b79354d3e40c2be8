"""The report on the code's density counts what it says."""

import pytest

from tests.support.density import Density, arrows_up, floors, report

SOURCE = '''
def first(rows):
    """A docstring is one token."""

    # A comment.
    top, *rest = [row for row in rows]
    return top if rest else None  # another
'''


def test_what_is_counted():
    density = Density()
    density.add(SOURCE)
    assert (density.all_lines, density.lines, density.comments) == (7, 5, 2)
    assert (density.conditionals, density.comprehensions, density.starred) == (1, 1, 1)
    assert density.tokens == 6 + 1 + 12 + 6


def test_a_room_stands_above_what_it_imports():
    arrows = {"cli": {"graph", "errors"}, "graph": {"nodes"}, "nodes": {"errors"}, "errors": set()}
    assert floors(arrows) == {"cli": 4, "graph": 3, "nodes": 2, "errors": 1}
    assert arrows_up(arrows) == []


def test_rooms_of_a_circle_share_a_floor():
    arrows = {"cli": {"graph"}, "graph": {"nodes"}, "nodes": {"graph", "errors"}, "errors": set()}
    assert floors(arrows) == {"cli": 3, "graph": 2, "nodes": 2, "errors": 1}
    assert arrows_up(arrows) == [("graph", "nodes"), ("nodes", "graph")]


@pytest.mark.slow
def test_the_report_has_both_tables():
    lines = report().splitlines()
    assert any(line.startswith("nodes ") for line in lines)
    assert any(line.startswith("arrows between rooms ") for line in lines)
