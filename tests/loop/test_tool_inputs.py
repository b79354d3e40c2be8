"""Tools, results and checks of many kinds in a `ToolEnvironment`."""

import enum
from typing import Annotated, Any, Literal

import numpy as np
import pytest
from langchain.tools import InjectedState, InjectedStore, ToolRuntime
from langchain_core.messages import ToolMessage
from langchain_core.tools import StructuredTool, Tool, ToolException, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command, interrupt
from pydantic import BaseModel, Field

from langgraph_reflexion import ConfigurationError, ModelOptions, ToolEnvironment
from langgraph_reflexion.envs.actions import Action
from langgraph_reflexion.envs.grammar import parse_action, shown_actions, tool_schemas
from langgraph_reflexion.errors import EnvironmentFault
from langgraph_reflexion.support.retries import Retries
from langgraph_reflexion.testing.case import made_up
from tests.support.toys import THREAD, compiled, play


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Item(BaseModel):
    name: str = Field(description="its name")
    number: int = Field(1, ge=1)


def buy(items: list[Item], to: Item | None = None) -> str:
    """Buy."""
    return f"{len(items)} {items[0]!r} {to!r}"


def paint(colour: Colour, layers: Literal[1, 2, None] = 1) -> str:
    """Paint."""
    return f"{colour!r} {layers!r}"


def write(path: str, text: str, mode: int = 0) -> str:
    """Write a file."""
    return f"{path}|{text}|{mode}"


def now(zone: str = "UTC") -> str:
    """Return the time."""
    return zone


def accept(task, answer):
    return True


def environment(tools, check=accept, **options):
    return ToolEnvironment(tools, ["Do it."], check, **options)


def said(tools, *texts, check=accept, **options):
    """Return what is observed after each action."""
    made = environment(tools, check, **options)
    episode = made.start(made.tasks()[0])
    try:
        actions = [parse_action(made, text) or Action(name="", args={}, text=text) for text in texts]
        return [episode.step(action).observation for action in actions]
    finally:
        episode.close()


@pytest.mark.parametrize(
    ("text", "observed"),
    [
        ('buy[[{"name": "pen"}, {"name": "a, b"}]]', "2 Item(name='pen', number=1) None"),
        ('buy[{"items": [{"name": "pen", "number": "3"}]}]', "1 Item(name='pen', number=3) None"),
        ("paint[red]", "<Colour.RED: 'red'> 1"),
        ('paint[{"colour": "blue", "layers": "2"}]', "<Colour.BLUE: 'blue'> 2"),
        ('paint[{"colour": "blue", "layers": null}]', "<Colour.BLUE: 'blue'> None"),
        ("write[a.txt, one, two]", "a.txt|one, two|0"),
        ('write["a.txt", "one, two"]', "a.txt|one, two|0"),
        ("write[a.txt, one\n  two]", "a.txt|one\n  two|0"),
        ("write[{'path': 'a', 'text': 'b'}]", "a|b|0"),
        ('write[{"path": "a", "text": "b", "mode": 7.0}].', "a|b|7"),
        ("now", "UTC"),
        ("now()", "UTC"),
        ("now[{}]", "UTC"),
    ],
)
def test_arguments(text, observed):
    assert said([buy, paint, write, now], text) == [observed]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('write[{"path": "a", "text": "b", "owner": "c"}]', "owner: there is no such argument"),
        ('write[{"path": "a", "text": "b", "mode": 7.5}]', "mode: must be integer"),
        ("paint[green]", "colour: must be red or blue"),
        ("write[a]", "text: is missing"),
        ("write it", "there is no action"),
    ],
)
def test_invalid_arguments(text, why):
    (observed,) = said([paint, write], text)
    assert observed.startswith("Invalid action: ")
    assert why in observed


def test_the_fields_of_objects_in_a_list_are_named():
    [shown, _] = shown_actions(environment([buy]), {})
    assert shown.explanation.startswith("Buy. {items}: a JSON list of objects with name, number.")


def test_a_schema_of_another_program():
    properties = {"kind": {"$ref": "#/definitions/Kind"}, "other": {"$ref": "#/properties/kind"}, "anything": True}
    schema = {"properties": properties, "required": ["kind"], "definitions": {"Kind": {"enum": ["p", "q"]}}}
    odd = StructuredTool(name="odd", description="Odd.", args_schema=schema, func=lambda **given: str(given))
    observed = said([odd], "odd[p]", "odd[r]", 'odd[{"kind": "q", "other": "p", "anything": [1]}]')
    assert observed[::2] == ["{'kind': 'p'}", "{'kind': 'q', 'other': 'p', 'anything': [1]}"]
    assert "kind: must be p or q" in observed[1]
    assert tool_schemas(environment([odd]))[0]["function"]["parameters"]["definitions"] == schema["definitions"]
    assert made_up(environment([odd]).actions()["odd"])["args"] == {"kind": "p", "other": "p", "anything": "thing 1"}


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("echo[a, b]", "a, b"),
        ("echo[x = y[0]\nprint(x)]", "x = y[0]\nprint(x)"),
        ('echo[{"text": "a]"}]', "a]"),
        ('echo[{"other": 1}]', '{"other": 1}'),
    ],
)
def test_the_only_argument_of_a_tool(text, read):
    def echo(text: str) -> str:
        """Echo."""
        return text

    assert said([echo], text) == [read]


def test_a_legacy_tool_is_called_with_the_text():
    double = Tool(name="double", description="Double a text.", func=lambda text: text * 2)
    assert said([double], "double[a, b]") == ["a, ba, b"]


MESSAGE = ToolMessage("done", tool_call_id="1")
COMMAND = Command(update={"messages": [MESSAGE]})
RESULTS = [
    (None, "null"),
    (b"a\xff", "b'a\\xff'"),
    (float("nan"), "NaN"),
    ({"a": {1}}, "{'a': {1}}"),
    (["a", "b"], "a\nb"),
    (Item(name="pen"), "name='pen' number=1"),
    ([MESSAGE, MESSAGE], "done\ndone"),
    ([COMMAND], "done"),
    (Command(update=[("messages", [MESSAGE])]), "done"),
    ("x" * 1_000_000, "x" * 1_000_000),
]


@pytest.mark.parametrize(("result", "words"), RESULTS, ids=lambda value: str(value)[:20])
def test_results(result, words):
    def look() -> Any:
        """Look."""
        return result

    assert said([look], "look[]") == [words]


@pytest.mark.parametrize("handled", [False, True], ids=["raised", "handled"])
def test_a_call_that_fails_does_not_end_the_task(handled):
    def book(seat: int) -> str:
        """Book a seat."""
        if seat == 0:
            raise ToolException("there is no seat 0")
        return f"booked {seat}"

    booking = StructuredTool.from_function(book, return_direct=True, handle_tool_error=handled)
    failed, booked = said([booking], "book[0]", "book[7]", finish=None)
    assert "there is no seat 0" in failed
    assert booked == "booked 7\nThe task is solved."


def test_injected_arguments():
    @tool
    def look(x: int, runtime: ToolRuntime, lines: Annotated[list[str], InjectedState("lines")]) -> str:
        """Look."""
        assert runtime.store is not None
        return f"{x} {runtime.state} {runtime.tool_call_id} {runtime.config['metadata']['langgraph_node']} {lines}"

    @tool
    def keep(x: int, store: Annotated[Any, InjectedStore()], state: Annotated[dict[str, Any], InjectedState]) -> str:
        """Keep."""
        store.put(("kept",), str(x), state)
        return "kept"

    store = InMemoryStore()
    texts = ["look[1]", "keep[2]", "finish[done]"]
    made = environment(lambda task: ([look, keep], {"lines": ["a"]}))
    final, model = play([f"Action: {text}" for text in texts], made, store=store)
    assert final["trajectory"][0]["observation"] == "1 {'lines': ['a']} call_1 observe ['a']"
    assert store.get(("kept",), "2").value == {"lines": ["a"]}
    assert "- look[{x}]\n" in model.prompts[0][0].text


def test_a_store_or_a_state_that_is_missing_is_named():
    @tool
    def keep(x: int, store: Annotated[Any, InjectedStore()]) -> str:
        """Keep."""
        return "kept"

    @tool
    def look(x: int, state: Annotated[dict[str, Any], InjectedState]) -> str:
        """Look."""
        return "looked"

    with pytest.raises(ConfigurationError, match="compile the graph with store"):
        said([keep], "keep[1]")
    with pytest.raises(ConfigurationError, match=r"return \(tools, state\)"):
        environment([look]).actions()


@pytest.mark.parametrize(
    ("check", "words"),
    [
        (lambda state: np.bool_(True), "The task is solved."),
        (lambda state: (np.float64(1.0), "well done"), "The task is solved. well done"),
        (lambda state: {"score": np.float64(0.5), "comment": "half"}, "The task is not solved. half"),
        (lambda question, reply: reply == "x", "The task is solved."),
        (lambda task, result: result == "x", "The task is solved."),
        (lambda answer, strict=True: strict and answer == "x", "The task is solved."),
        (lambda *given: given[1] == "x", "The task is solved."),
    ],
    ids=["bool", "pair", "dict", "other names", "result", "default", "any"],
)
def test_parameters_and_results_of_a_check(check, words):
    assert said([now], "finish[x]", check=check) == [words]


def test_a_passing_fault_in_a_trial_that_cannot_be_rebuilt_is_the_end_of_the_task():
    calls = []

    def ask(x: int) -> str:
        """Ask."""
        calls.append(x)
        if x == 2:
            raise EnvironmentFault("the line is dead")
        return "well"

    quick = ModelOptions(retries=Retries(attempts=4, first_wait=0))
    final, _ = play(["Action: ask[1]", "Action: ask[2]"], environment([ask]), options=quick)
    assert (final["status"], final["fault"], calls) == ("fault", "the line is dead", [1, 2])


def test_a_tool_that_asks_a_person_goes_on_in_its_world():
    written = []

    def make(task):
        lines = []

        def note(text: str) -> str:
            """Write a line."""
            lines.append(text)
            written.append(text)
            return f"{len(lines)} lines"

        def ask(question: str) -> str:
            """Ask a person."""
            return str(interrupt(question))

        return [note, ask], lines

    made = environment(make, lambda state: state == ["a"])
    graph, _ = compiled(["Action: note[a]", "Action: ask[which?]", "Action: finish[done]"], made, InMemorySaver())
    paused = graph.invoke({"task": made.tasks()[0]}, THREAD)
    assert paused["__interrupt__"][0].value == "which?"
    final = graph.invoke(Command(resume="blue"), THREAD)
    assert [step["observation"] for step in final["trajectory"]] == ["1 lines", "blue", "The task is solved."]
    assert written == ["a"]
