"""Actions: their schemas, text forms and parsing."""

import time
from enum import Enum
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, Field

from langgraph_reflexion.envs.base import Action, Episode, action
from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.testing.conformance import Case
from tests.support.toys import Counter, CounterEpisode, add, with_action

TASK = Counter().tasks("hard")[0]


class Tool(Enum):
    AXE = "axe"
    SAW = "saw"


class Pace(Enum):
    SLOW = 1
    FAST = 2


class Point(BaseModel):
    """A place on the floor."""

    x: Annotated[int, Field(ge=0, le=3)]
    y: int = 0


class Node(BaseModel):
    """A place with more of them below it."""

    below: list["Node"]
    beside: "Node | None"


class Typed:
    """Actions with one argument each, by the type that it has."""

    numbered = Literal[1, 2, 3]
    paced = Pace
    perhaps = Annotated[Literal["a", "b"] | None, "which"]
    painted = Tool | None
    united = int | Literal["all"]
    listed = list[Literal["a b", "c"]]
    counted = list[int]
    between = Annotated[int, "how many", Field(gt=6, lt=9)]
    bounded_or_not = Annotated[int, Field(ge=5, le=9)] | None
    spaced = Literal["a b", "c", ""]
    point = Point
    table = dict[str, int]
    tree = Node


def typed(kind):
    """An environment whose one action has one argument of this type."""

    def act(self, it) -> str:
        """Do it."""
        return repr(it)

    act.__annotations__["it"] = getattr(Typed, kind)
    return with_action(action("do {it}")(act))


TYPES = [name for name in vars(Typed) if not name.startswith("_")]


def test_values_are_made_up_that_the_schema_allows():
    for kind in [name for name in TYPES if name != "between"]:
        environment = typed(kind)
        case = Case.of(environment)
        assert "Invalid" not in environment.start(case.task).step(case.actions[0]).observation, kind


@pytest.mark.parametrize(
    ("kind", "written", "read"),
    [
        ("numbered", "2", "2"),
        ("paced", "2", "<Pace.FAST: 2>"),
        ("united", "all", "'all'"),
        ("united", "7", "7"),
        ("spaced", '"a b"', "'a b'"),
        ("listed", '["c", "a b"]', "['c', 'a b']"),
        ("point", '{"x": 1}', "Point(x=1, y=0)"),
    ],
)
def test_an_argument_written_as_text_is_read_as_its_type(kind, written, read):
    environment = typed(kind)
    parsed = environment.parse(f"do {written}")
    assert environment.start(TASK).step(parsed).observation == read


@pytest.mark.parametrize(
    ("kind", "explanation"),
    [
        ("perhaps", "which (a or b)"),
        ("between", "how many (more than 6 and less than 9)"),
        ("spaced", '"a b", c or ""'),
        ("point", "a JSON object with x, y"),
    ],
)
def test_allowed_values_are_shown(kind, explanation):
    environment = typed(kind)
    assert environment.shown_actions(TASK)[0].explanation == f"Do it. {{it}}: {explanation}."


def no_hint(self, it) -> str:
    return ""


def starred(self, *them: str) -> str:
    return ""


def hinted(self, it: str) -> str:
    return ""


@pytest.mark.parametrize(
    ("method", "form", "says"),
    [
        (no_hint, "do {it}", r"the action 'no_hint' \(no_hint\): 'it' has no type hint: give one, such as `str`"),
        (starred, "do", r"takes \*them: str: name each argument"),
        (hinted, "do {it} {it}", r"the action 'hinted' .* the form 'do \{it\} \{it\}' names \{it\} twice"),
        (hinted, "do", r"the form 'do' lacks \{it\}"),
    ],
)
def test_actions_that_are_ill_defined_are_refused_by_name(method, form, says):
    with pytest.raises(ConfigurationError, match=says):
        with_action(action(form)(method)).episode.actions()


def test_arguments_are_converted_and_checked():
    episode = CounterEpisode(3, 20)
    assert episode.step(add("2")).observation == "The counter stands at 2."
    assert episode.step(add("two")).observation.startswith("Invalid action: add, amount: ")
    answer = episode.step(Action(name="", args={}, text="count to 3")).observation
    assert answer == (
        "Invalid action: there is no action 'count to 3'. "
        "Allowed actions: add {amount}; go {direction}; read[]; fail."
    )
    assert episode.step(Action(name="", args={}, text="Add")).observation.startswith(
        "Invalid action: Add needs {amount}."
    )
    assert episode.count == 2


def test_a_form_with_two_arguments_is_read_in_linear_time():
    class Mover(Episode):
        observation = ""

        @action("move {thing} to {place}")
        def move(self, thing: str, place: str) -> str:
            """Move."""
            return ""

    class Movers(Counter):
        episode = Mover

    began = time.monotonic()
    assert Movers().parse("move" + " " * 20_000 + "x") is None
    assert time.monotonic() - began < 2
    assert Movers().parse("move  a b  to  c ")["args"] == {"thing": "a b", "place": "c"}
