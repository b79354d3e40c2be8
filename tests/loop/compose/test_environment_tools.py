"""Our environments' tools in other people's agents."""

from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableLambda

from langgraph_reflexion import ReflexionMiddleware, create_reflexion, load_environment
from langgraph_reflexion.envs.base import Episode
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.composing import LESSON, call
from tests.support.toys import Counter


def test_a_plain_agent_plays_a_household_game() -> None:
    environment = load_environment("alfworld")
    episode = environment.start(environment.tasks()[0])
    model = ScriptedChatModel(replies=[call("look"), call("inventory"), "Nothing."])
    agent = create_agent(model, episode.tools)
    final = agent.invoke({"messages": [HumanMessage(episode.observation)]})
    look, inventory = (message.text for message in final["messages"] if message.type == "tool")
    assert look.startswith("You are in the middle of a room.")
    assert inventory == "You are not carrying anything."


def counting() -> ScriptedChatModel:
    """Adds 1, or what its last lesson says."""

    def reply(messages: list[Any]) -> AIMessage:
        text = "\n".join(message.text for message in messages)
        if messages[-1].type == "tool":
            return AIMessage(messages[-1].text)
        return call("add", amount=int(text.rpartition("Add ")[2][:1]) if LESSON in text else 1)

    return ScriptedChatModel(replies=reply)


def solved(task: str, result: str) -> bool:
    return result == "The counter stands at 3."


def test_an_agent_that_brings_a_fresh_episode_is_wrapped() -> None:
    environment = Counter()
    task = environment.tasks()[0]
    model = counting()

    def agent(messages: list[Any]) -> Any:
        return create_agent(model, environment.start(task).tools).invoke({"messages": messages})

    reflects = ScriptedChatModel(replies=["Add 2.", "Add 3."])
    graph = create_reflexion(reflects, actor=RunnableLambda(agent), evaluator=solved).compile()
    final = graph.invoke({"task": task["instruction"]})
    assert (final["status"], final["trial"], final["result"]) == ("solved", 3, "The counter stands at 3.")
    assert [episode.count for episode in environment.started] == [1, 2, 3]


async def test_in_an_agent_with_the_middleware_one_episode_goes_on() -> None:
    environment = Counter()
    episode: Episode = environment.start(environment.tasks()[0])
    reflects = ScriptedChatModel(replies=["The counter is not put back. Add 2."])
    around = ReflexionMiddleware(evaluator=solved, model=reflects)
    agent = create_agent(counting(), episode.tools, middleware=[around])
    given: Any = {"messages": [HumanMessage("Count to 3.")]}
    final: Any = await agent.ainvoke(given)
    assert final["messages"][-1].text == "The counter stands at 3."
    assert final["messages"][-1].response_metadata["reflexion"]["trials"] == 2
