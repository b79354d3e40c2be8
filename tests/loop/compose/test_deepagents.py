"""As a sub-agent of a deep agent, and as middleware of one."""

from typing import Any

from deepagents import create_deep_agent

from langgraph_reflexion import ReflexionMiddleware
from tests.support import compositions as ways
from tests.support.composing import SOLVED, TASK, Guessing


async def test_a_deep_agent_has_it_as_a_sub_agent() -> None:
    guessing = Guessing()
    way = ways.deep(guessing)
    final = await way.graph.ainvoke(way.input)
    assert [message.type for message in final["messages"]] == ["human", "ai", "tool", "ai"]
    assert [message.text for message in final["messages"][2:]] == ["It is 3.", "I heard: It is 3."]
    assert not {"task", "trial", "status", "reflections"} & set(final), "what is its own stays its own"
    guessing.expect_lessons()


def test_a_deep_agent_has_it_as_middleware() -> None:
    guessing = Guessing()
    around = ReflexionMiddleware(evaluator=guessing.is_three, model=guessing.reflects)
    agent = create_deep_agent(guessing.guesses, [guessing.tool], middleware=[around])
    final = agent.invoke(ways.MESSAGES)
    assert [message.type for message in final["messages"]] == ["human", "ai", "tool", "ai"]
    assert final["messages"][-1].text == "It is 3."
    assert final["messages"][-1].response_metadata["reflexion"] == SOLVED
    guessing.expect_lessons()


def test_a_declared_sub_agent_has_it_as_middleware() -> None:
    guessing = Guessing()
    sub: Any = {
        "name": "guesser",
        "description": "Guesses.",
        "system_prompt": "You guess.",
        "model": guessing.guesses,
        "tools": [guessing.tool],
        "middleware": [ReflexionMiddleware(evaluator=guessing.is_three, model=guessing.reflects)],
    }
    caller = guessing.caller("task", description=TASK, subagent_type="guesser")
    final = create_deep_agent(caller, subagents=[sub]).invoke(ways.MESSAGES)
    assert final["messages"][-1].text == "I heard: It is 3."
    guessing.expect_lessons()
