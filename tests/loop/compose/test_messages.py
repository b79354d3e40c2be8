"""In and out through messages, as chat front ends speak: dicts in, streams and one answer with its outcome out."""

from typing import Any

from langchain_core.messages import AIMessageChunk
from langgraph.checkpoint.memory import InMemorySaver

from tests.support.composing import SOLVED, TASK, THREAD, Guessing


def said(text: str) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text}]}


def test_a_chat_goes_on_over_several_tasks() -> None:
    guessing = Guessing()
    chat = guessing.graph().compile(checkpointer=InMemorySaver())
    for turn in (1, 2):
        final = chat.invoke(said(f"{TASK} Take {turn}."), THREAD)
        assert final["task"]["instruction"] == f"{TASK} Take {turn}."
        assert [message.type for message in final["messages"]] == ["human", "ai"] * turn
        assert final["messages"][-1].text == "It is 3."
        assert final["messages"][-1].response_metadata["reflexion"] == SOLVED
    begun = [prompt for prompt in guessing.guesses.prompts if prompt[-1].type == "human"]
    assert [message.text for message in begun[3]] == [f"{TASK} Take 1.", "It is 3.", f"{TASK} Take 2."]
    assert len(begun) == 6


async def test_a_front_end_tells_the_trials_from_the_answer() -> None:
    graph = Guessing().graph().compile()
    streamed = [
        (part.text, about["langgraph_node"])
        async for part, about in graph.astream(said(TASK), stream_mode="messages", subgraphs=False)
    ]
    [answer] = [text for text, node in streamed if node == "evaluate"]
    assert answer == "It is 3."
    reflections = [text for text, node in streamed if node == "reflect"]
    assert "".join(reflections) == "It was not 1.It was not 2."


def test_the_answer_says_how_it_ended_also_when_it_did_not_end_well() -> None:
    chat = Guessing().graph(max_trials=1).compile()
    answer = chat.invoke(said(TASK))["messages"][-1]
    assert not isinstance(answer, AIMessageChunk)
    assert answer.text == "It is 1."
    assert answer.response_metadata["reflexion"] == {
        "status": "failed", "trials": 1, "best": 1, "score": 0.0, "fault": ""
    }  # fmt: skip
