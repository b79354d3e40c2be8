"""As middleware, when something goes wrong: the best answer so far, and what went wrong in its metadata."""

from typing import Any

import pytest
from langchain.agents.middleware import (
    AgentMiddleware,
    ModelCallLimitMiddleware,
    SummarizationMiddleware,
    hook_config,
)
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_reflexion import Fault, ModelFault, ReflexionMiddleware, Retries
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.composing import SOLVED, TASK, THREAD, Guessing

GIVEN: Any = {"messages": [HumanMessage(TASK)]}
QUICK = Retries(attempts=2, first_wait=0.0)


class BusyError(Exception):
    status_code = 503


class RefusedError(Exception):
    status_code = 401


def run(guessing: Guessing, model: BaseChatModel, **options: Any) -> Any:
    around = ReflexionMiddleware(
        evaluator=options.pop("evaluator", guessing.is_three), model=model, retries=QUICK, **options
    )
    return guessing.agent(middleware=[around]).invoke(GIVEN)["messages"]


def outcome(messages: list[Any]) -> tuple[str, str, int, str]:
    told = messages[-1].response_metadata["reflexion"]
    return messages[-1].text, told["status"], told["trials"], told["fault"]


def test_a_reflection_that_fails_once_is_tried_again() -> None:
    guessing = Guessing()
    model = ScriptedChatModel(replies=[BusyError(), "It was not 1.", "It was not 2."])
    assert run(guessing, model)[-1].response_metadata["reflexion"] == SOLVED


def test_a_reflection_that_cannot_be_had_ends_with_the_best_answer() -> None:
    guessing = Guessing()
    scores = iter([0.9, 0.1])
    model = ScriptedChatModel(replies=["It was not 1.", BusyError("no"), BusyError("no")])
    messages = run(guessing, model, evaluator=lambda t, r: next(scores))
    assert outcome(messages) == ("It is 1.", "fault", 2, "the model could not answer: BusyError: no")


def test_a_model_that_never_answers_leaves_the_answer() -> None:
    messages = run(Guessing(), ScriptedChatModel(replies=[BusyError("no")] * 2))
    assert outcome(messages) == ("It is 1.", "fault", 1, "the model could not answer: BusyError: no")


def test_a_verifier_that_meets_trouble_leaves_the_answer() -> None:
    def verify(task: str, result: str) -> bool:
        raise Fault("no docker")

    guessing = Guessing()
    messages = run(guessing, guessing.reflects, evaluator=verify)
    assert outcome(messages) == ("It is 1.", "fault", 1, "no docker")


def test_a_bug_in_a_verifier_is_raised() -> None:
    guessing = Guessing()
    with pytest.raises(ZeroDivisionError):
        run(guessing, guessing.reflects, evaluator=lambda task, result: 1 / 0)


def test_a_wrong_key_stops_the_run() -> None:
    with pytest.raises(ModelFault, match="RefusedError"):
        run(Guessing(), ScriptedChatModel(replies=[RefusedError("who are you?")]))


def test_what_the_agent_raises_is_the_agents_business() -> None:
    @tool
    def look_up(number: int) -> str:
        """Look a number up."""
        raise OSError("the book is gone")

    guessing = Guessing(tool=look_up)
    with pytest.raises(OSError, match="the book is gone"):
        run(guessing, guessing.reflects)


def test_an_empty_answer_has_failed() -> None:
    guessing = Guessing()
    guessing.guesses.replies = lambda messages: ""
    reflects = ScriptedChatModel(replies=["Say something."])
    messages = run(guessing, reflects, max_trials=2)
    assert outcome(messages) == ("", "failed", 2, "")
    assert "Nothing was returned." in reflects.prompts[0][-1].text


@pytest.mark.parametrize(("calls", "said"), [(3, "Model call limits exceeded: run limit (3/3)"), (4, "It is 2.")])
def test_a_limit_of_the_agents_own_ends_the_task(calls: int, said: str) -> None:
    guessing = Guessing()
    around = ReflexionMiddleware(evaluator=guessing.is_three, model=guessing.reflects)
    limit = ModelCallLimitMiddleware(run_limit=calls)
    messages = guessing.agent(middleware=[limit, around]).invoke(GIVEN)["messages"]
    # It stops the second trial in its middle, or the third one before it begins.
    told = [each.response_metadata["reflexion"] for each in messages if "reflexion" in each.response_metadata]
    assert [(each["status"], each["trials"]) for each in told] == [("failed", 2)]
    assert messages[-1].text == said
    assert len(guessing.reflects.prompts) == 2


@pytest.mark.parametrize("order", [1, -1])
def test_what_a_guard_has_stopped_is_not_tried_again(order: int) -> None:
    class Guard(AgentMiddleware[Any, Any, Any]):
        @hook_config(can_jump_to=["end"])
        def before_agent(self, state: Any, runtime: Any) -> Any:
            return (
                {"jump_to": "end", "messages": [AIMessage("No.")]} if "bomb" in state["messages"][-1].text else None
            )

    guessing = Guessing()
    around = ReflexionMiddleware(evaluator=guessing.is_three, model=guessing.reflects)
    agent = guessing.agent(middleware=[Guard(), around][::order], checkpointer=InMemorySaver())
    final: Any = agent.invoke({"messages": [HumanMessage("A bomb.")]}, THREAD)
    assert final["messages"][-1].text == "No."
    assert agent.invoke(GIVEN, THREAD)["messages"][-1].response_metadata["reflexion"] == SOLVED
    final = agent.invoke({"messages": [HumanMessage("A bomb.")]}, THREAD)
    assert final["messages"][-1].text == "No."
    assert len(guessing.guesses.prompts) == 6


def test_a_conversation_that_was_summed_up_is_whole_again_in_the_next_trial() -> None:
    guessing = Guessing()
    sums = ScriptedChatModel(replies=lambda messages: "They talked.")
    summing = SummarizationMiddleware(model=sums, trigger=("messages", 3), keep=("messages", 2))
    around = ReflexionMiddleware(evaluator=guessing.is_three, model=guessing.reflects)
    agent = guessing.agent(middleware=[summing, around])
    final = agent.invoke(GIVEN)
    assert sums.prompts
    begun = [prompt for prompt in guessing.guesses.prompts if prompt[-1].text == TASK]
    assert len(begun) == 3
    assert final["messages"][-1].response_metadata["reflexion"] == SOLVED
