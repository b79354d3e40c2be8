"""An agent that asks a person, inside a Reflexion graph, inside something larger: the question goes all the way."""

from typing import Any

import pytest
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

from tests.support.composing import THREAD, Guessing
from tests.support.compositions import WAYS

# langgraph-supervisor 0.0.31 stands on `create_react_agent`, which LangGraph has moved.
pytestmark = pytest.mark.filterwarnings("ignore:create_react_agent has been moved")


def asking(answers: list[str]) -> Any:
    """The tool, which asks a person."""

    @tool
    def look_up(number: int) -> str:
        """Look a number up."""
        answers.append(interrupt(f"What is {number}?"))
        return answers[-1]

    return look_up


@pytest.mark.parametrize(
    ("name", "how"), [*((name, "ainvoke") for name in WAYS), ("subgraph", "invoke"), ("middleware", "invoke")]
)
async def test_the_question_comes_out_and_the_answer_goes_in(name: str, how: str) -> None:
    answers: list[str] = []
    guessing = Guessing(tool=asking(answers))
    way = WAYS[name](guessing, InMemorySaver())
    given: Any = way.input
    for number in (1, 2, 3):
        paused = way.graph.invoke(given, THREAD) if how == "invoke" else await way.graph.ainvoke(given, THREAD)
        assert [question.value for question in paused["__interrupt__"]] == [f"What is {number}?"]
        given = Command(resume=f"{number}, said the person.")
    final = way.graph.invoke(given, THREAD) if how == "invoke" else await way.graph.ainvoke(given, THREAD)
    assert "__interrupt__" not in final
    assert answers == ["1, said the person.", "2, said the person.", "3, said the person."]
    guessing.expect_lessons()
    assert (final["answer"] if name == "node" else final["messages"][-1].text).endswith("It is 3.")


@pytest.mark.parametrize("name", ["subgraph", "middleware", "as_tool"])
def test_a_person_can_be_the_verifier(name: str) -> None:
    guessing = Guessing()
    guessing.is_three = lambda task, result: interrupt(f"Is it right? {result}")  # type: ignore[method-assign]
    way = WAYS[name](guessing, InMemorySaver())
    given: Any = way.input
    for number, right in ((1, False), (2, False), (3, True)):
        paused = way.graph.invoke(given, THREAD)
        assert paused["__interrupt__"][0].value == f"Is it right? It is {number}."
        given = Command(resume=right)
    assert way.graph.invoke(given, THREAD)["messages"][-1].text.endswith("It is 3.")
    guessing.expect_lessons()
