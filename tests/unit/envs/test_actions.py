from enum import Enum
from time import thread_time
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, Field

from langgraph_reflexion.envs.base import Action, action
from langgraph_reflexion.envs.grammar import parse_action, shown_actions
from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.testing.conformance import Case
from tests.support.toys import Counter, CounterEpisode, add, with_action

TASK = Counter().tasks("hard")[0]


class Pace(Enum):
    SLOW = 1
    FAST = 2


class Point(BaseModel):
    x: Annotated[int, Field(ge=0, le=3)]
    y: int = 0


class Node(BaseModel):
    below: list["Node"]
    beside: "Node | None"


TYPES = {
    "numbered": Literal[1, 2, 3],
    "paced": Pace,
    "perhaps": Annotated[Literal["a", "b"] | None, "which"],
    "united": int | Literal["all"],
    "listed": list[Literal["a b", "c"]],
    "counted": list[int],
    "between": Annotated[int, "how many", Field(gt=6, lt=9)],
    "bounded or not": Annotated[int, Field(ge=5, le=9)] | None,
    "spaced": Literal["a b", "c", ""],
    "point": Point,
    "table": dict[str, int],
    "tree": Node,
}


def typed(kind):
    def act(self, it) -> str:
        """Do it."""
        return repr(it)

    act.__annotations__["it"] = TYPES[kind]
    return with_action(action("do {it}")(act))


@pytest.mark.parametrize("kind", [kind for kind in TYPES if kind != "between"])
def test_values_are_made_up_that_the_schema_allows(kind):
    case = Case.of(typed(kind))
    assert "Invalid" not in case.environment.start(case.task).step(case.actions[0]).observation


@pytest.mark.parametrize(
    ("kind", "written", "read"),
    [
        ("numbered", "2", 2),
        ("paced", "2", Pace.FAST),
        ("united", "all", "all"),
        ("united", "7", 7),
        ("spaced", '"a b"', "a b"),
        ("listed", '["c", "a b"]', ["c", "a b"]),
        ("point", '{"x": 1}', Point(x=1)),
    ],
)
def test_an_argument_written_as_text_is_read_as_its_type(kind, written, read):
    environment = typed(kind)
    assert environment.start(TASK).step(parse_action(environment, f"do {written}")).observation == repr(read)


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
    assert shown_actions(environment, TASK)[0].explanation == f"Do it. {{it}}: {explanation}."


class IllDefined:
    def no_hint(self, it) -> str: ...

    def starred(self, *them: str) -> str: ...

    def hinted(self, it: str) -> str: ...


@pytest.mark.parametrize(
    ("method", "form", "says"),
    [
        ("no_hint", "do {it}", r"the action 'no_hint' .*: 'it' has no type hint: give one"),
        ("starred", "do", r"takes \*them: str: name each argument"),
        ("hinted", "do {it} {it}", r"the action 'hinted' .* the form 'do \{it\} \{it\}' names \{it\} twice"),
        ("hinted", "do", r"the form 'do' lacks \{it\}"),
    ],
)
def test_actions_that_are_ill_defined_are_refused_by_name(method, form, says):
    with pytest.raises(ConfigurationError, match=says):
        with_action(action(form)(getattr(IllDefined, method))).episode.actions()


def test_arguments_are_converted_and_checked():
    episode = CounterEpisode(3, 20)
    said = [
        episode.step(each).observation
        for each in (add("2"), add("two"), *(Action(name="", args={}, text=text) for text in ("count to 3", "Add")))
    ]
    assert said[0] == "The counter stands at 2."
    assert said[1].startswith("Invalid action: add, amount: ")
    assert said[2] == (
        "Invalid action: there is no action 'count to 3'. "
        "Allowed actions: add {amount}; go {direction}; read[]; fail."
    )
    assert said[3].startswith("Invalid action: Add needs {amount}.")
    assert episode.count == 2


def test_a_form_with_two_arguments_is_read_in_linear_time():
    def move(self, thing: str, place: str) -> str:
        """Move."""

    mover, began = with_action(action("move {thing} to {place}")(move)), thread_time()
    assert parse_action(mover, "move" + " " * 20_000 + "x") is None
    assert thread_time() - began < 2
    assert parse_action(mover, "move  a b  to  c ")["args"] == {"thing": "a b", "place": "c"}
