"""As middleware of an agent: what its users see, how tasks follow each other, and what is kept."""

import json
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain.agents.structured_output import ToolStrategy
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.types import Command
from pydantic import BaseModel

from langgraph_reflexion import CommandEvaluator, ConfigurationError, Evaluation, ReflexionMiddleware
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.composing import LESSON, SOLVED, TASK, THREAD, Guessing, call

TALK: list[Any] = [HumanMessage("Hello"), AIMessage("Hello."), HumanMessage(TASK)]


def around(guessing: Guessing, **options: Any) -> ReflexionMiddleware:
    given: dict[str, Any] = {"evaluator": guessing.is_three, "model": guessing.reflects}
    return ReflexionMiddleware(**(given | options))


@pytest.mark.parametrize("how", ["invoke", "ainvoke"])
async def test_an_answer_that_fails_is_reflected_on_and_tried_anew(how: str) -> None:
    guessing = Guessing()
    agent = guessing.agent(middleware=[around(guessing)], system_prompt="You guess.")
    given = {"messages": TALK}
    final = agent.invoke(given) if how == "invoke" else await agent.ainvoke(given)
    assert set(final) == {"messages"}
    assert [message.text for message in final["messages"]] == [
        "Hello", "Hello.", TASK, "", "3 is a number.", "It is 3."
    ]  # fmt: skip
    assert final["messages"][-1].response_metadata["reflexion"] == SOLVED
    guessing.expect_lessons()
    prompts = guessing.guesses.prompts
    # Each trial begins with the conversation as it was, and the lessons stand behind the agent's own instructions.
    assert [[message.text for message in prompt[1:]] for prompt in prompts[::2]] == [["Hello", "Hello.", TASK]] * 3
    assert [prompt[0].text.startswith("You guess.") for prompt in prompts] == [True] * 6
    assert [LESSON in prompt[0].text for prompt in prompts] == [False, False, True, True, True, True]
    shown = guessing.reflects.prompts[1][-1].text
    assert "Action: look_up(number=2)\nObservation: 2 is a number." in shown
    assert "Status: FAILED, score 0" in shown
    assert "- Trial 1: It was not 1." in shown


def test_instructions_in_blocks_stay_blocks() -> None:
    guessing = Guessing()
    blocks = [{"type": "text", "text": "You guess.", "cache_control": {"type": "ephemeral"}}]
    guessing.agent(middleware=[around(guessing)], system_prompt=SystemMessage(blocks)).invoke({"messages": TALK})  # type: ignore[arg-type]
    content: Any = guessing.guesses.prompts[-1][0].content
    assert content[0] == blocks[0]
    assert LESSON in content[1]["text"]


def test_the_memory_is_capped_and_the_verdict_is_told_as_far_as_wanted() -> None:
    guessing = Guessing()
    agent = guessing.agent(middleware=[around(guessing, memory_size=1, feedback="binary")])
    agent.invoke({"messages": TALK})
    assert guessing.guesses.prompts[-1][0].text.count("It was not") == 1
    assert "score" not in guessing.reflects.prompts[1][-1].text


@pytest.mark.parametrize("best", [1, 2, 3])
def test_when_none_succeeds_the_best_is_the_answer(best: int) -> None:
    guessing = Guessing()

    def close(task: str, result: str) -> tuple[float, str]:
        return (0.7 if result == f"It is {best}." else 0.2), "Not this one."

    agent = guessing.agent(middleware=[around(guessing, evaluator=close, max_trials=3)])
    final = agent.invoke({"messages": TALK})
    assert [message.text for message in final["messages"][3:]] == ["", f"{best} is a number.", f"It is {best}."]
    assert final["messages"][-1].response_metadata["reflexion"] == {
        "status": "failed", "trials": 3, "best": best, "score": 0.2 if best < 3 else 0.7, "fault": ""
    }  # fmt: skip
    assert "Not this one." in guessing.reflects.prompts[0][-1].text


def evaluation(task: str, result: str) -> Evaluation:
    return Evaluation(success=result == "It is 3.", score=float(result == "It is 3."), feedback="")


@pytest.mark.parametrize(
    "evaluator", [CommandEvaluator("grep -x '.* 3[.]'"), evaluation], ids=["command", "function"]
)
def test_verifiers(evaluator: Any) -> None:
    guessing = Guessing()
    final = guessing.agent(middleware=[around(guessing, evaluator=evaluator)]).invoke({"messages": TALK})
    assert final["messages"][-1].response_metadata["reflexion"] == SOLVED
    guessing.expect_lessons()


def test_one_model_can_act_judge_and_reflect() -> None:
    def reply(messages: list[Any]) -> str:
        if "You judge a trial" in messages[0].text:
            return f"I looked.\nVerdict: {'yes' if 'It is 2' in messages[-1].text else 'no'}"
        if "You have just failed" in messages[0].text:
            return "It was not 1."
        return "It is 2." if "It was not 1." in messages[0].text else "It is 1."

    model = ScriptedChatModel(replies=reply)
    agent = create_agent(model, middleware=[ReflexionMiddleware(model, evaluator="llm")])
    final = agent.invoke({"messages": TALK})
    assert final["messages"][-1].text == "It is 2."
    assert final["messages"][-1].response_metadata["reflexion"]["trials"] == 2
    assert len(model.prompts) == 5


class Guess(BaseModel):
    """A guess."""

    number: int


@pytest.mark.parametrize("score", [1.0, 0.5])
def test_a_structured_response_is_the_result(score: float) -> None:
    def reply(messages: list[Any]) -> AIMessage:
        told = "".join(message.text for message in messages if LESSON in message.text).count("It was not")
        return call("Guess", number=1 + told)

    guessing = Guessing()
    reflects = ScriptedChatModel(replies=["It was not 1.", "It was not 2."])
    middleware = around(guessing, evaluator=lambda t, r: score * (r == {"number": 2}), model=reflects, max_trials=3)
    agent = create_agent(
        ScriptedChatModel(replies=reply), middleware=[middleware], response_format=ToolStrategy(Guess)
    )
    final = agent.invoke({"messages": TALK})
    assert final["structured_response"] == Guess(number=2), "solved at once, or the best of three"
    told = [message.response_metadata["reflexion"] for message in final["messages"] if message.response_metadata]
    assert [(each["trials"], each["best"]) for each in told] == [(2, 2) if score == 1 else (3, 2)]


def test_the_answer_of_a_tool_that_returns_directly_is_the_result() -> None:
    @tool(return_direct=True)
    def look_up(number: int) -> str:
        """Look a number up."""
        return f"It is {number}."

    guessing = Guessing(tool=look_up)
    final = guessing.agent(middleware=[around(guessing)]).invoke({"messages": TALK})
    assert [message.text for message in final["messages"][3:]] == ["", "It is 3."]
    assert final["messages"][-2].response_metadata["reflexion"] == SOLVED


def test_each_human_message_is_a_new_task() -> None:
    guessing = Guessing()
    agent = guessing.agent(middleware=[around(guessing)], checkpointer=InMemorySaver())
    agent.invoke({"messages": TALK}, THREAD)
    final = agent.invoke({"messages": [HumanMessage(TASK)]}, THREAD)
    assert [message.response_metadata.get("reflexion") for message in final["messages"][-4:]] == [None] * 3 + [SOLVED]
    assert len(final["messages"]) == 10
    assert LESSON not in guessing.guesses.prompts[6][0].text
    assert len(guessing.guesses.prompts) == 12
    kept = agent.get_state(THREAD).values["reflexion"]
    assert [reflection["trial"] for reflection in kept["trials"]["reflections"]] == [1, 2]
    assert "reflexion" not in {
        **agent.get_input_jsonschema()["properties"],
        **agent.get_output_jsonschema()["properties"],
    }
    kept.pop("given"), kept.pop("best")
    json.dumps(kept)


def test_a_person_is_asked_in_each_trial() -> None:
    guessing = Guessing()
    approval = HumanInTheLoopMiddleware(interrupt_on={"look_up": True})
    agent = guessing.agent(middleware=[approval, around(guessing)], checkpointer=InMemorySaver())
    given: Any = {"messages": TALK}
    for number in (1, 2, 3):
        paused = agent.invoke(given, THREAD)
        [request] = paused["__interrupt__"][0].value["action_requests"]
        assert request["args"] == {"number": number}
        given = Command(resume={"decisions": [{"type": "approve"}]})
    final = agent.invoke(given, THREAD)
    assert final["messages"][-1].response_metadata["reflexion"] == SOLVED
    guessing.expect_lessons()


def test_another_process_resumes_at_the_evaluation(tmp_path: Any) -> None:
    guessing = Guessing()
    with SqliteSaver.from_conn_string(str(tmp_path / "c.db")) as saver:
        stopped = guessing.agent(
            middleware=[around(guessing)], checkpointer=saver, interrupt_before=["ReflexionMiddleware.after_agent"]
        )
        stopped.invoke({"messages": TALK}, THREAD)
        final = guessing.agent(middleware=[around(guessing)], checkpointer=saver).invoke(None, THREAD)
    assert final["messages"][-1].response_metadata["reflexion"] == SOLVED
    guessing.expect_lessons()


def test_what_is_streamed_as_the_agents_words_is_the_agents_alone() -> None:
    guessing = Guessing()
    agent = guessing.agent(middleware=[around(guessing)])
    said = [message.text for message, _ in agent.stream({"messages": TALK}, stream_mode="messages")]
    assert "It is 1." in said
    assert "It was not 1." not in said


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"evaluator": "environment"}, "evaluator"),
        ({"max_trials": 0}, "max_trials"),
        ({"feedback": "loud"}, "feedback"),
    ],
)
def test_what_makes_no_sense_is_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        around(Guessing(), **options)


def test_a_conversation_without_a_human_message_has_no_task() -> None:
    guessing = Guessing()
    with pytest.raises(ConfigurationError, match="a human message in it"):
        guessing.agent(middleware=[around(guessing)]).invoke({"messages": [AIMessage("Hello.")]})
