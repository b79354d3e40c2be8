"""Verdict and truth: the loop acts on the verdict and records both."""

import json
from dataclasses import replace

import pytest
from langchain_core.messages import AIMessage

from langgraph_reflexion import PROFILES, ConfigurationError, EnvironmentFault, Evaluator, Score, create_reflexion
from langgraph_reflexion.evaluators.judges import ASKED_AGAIN, NO_VERDICT
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.toys import Parrot, asks_for, text_of

GOOD, BAD = "bye right", "bye wrong"


def parrot():
    return Parrot(**{GOOD: 1.0, BAD: 0.0, "bye half": 0.5, "bye unknown": None})


def played(says, environment=None, verdicts=("no",), **options):
    """Say one thing per trial, under a judge that answers in turn."""
    environment = environment or parrot()
    words, judged = iter(says), iter(verdicts)

    def reply(prompt):
        match asks_for(prompt):
            case "act":
                return f"Action: say {next(words)}"
            case "judge":
                return f"I looked at it.\nVerdict: {next(judged)}"
        return "Say something else."

    model = ScriptedChatModel(replies=reply)
    options = {"max_trials": len(says), **options}
    final = create_reflexion(model, environment, **options).compile().invoke({"task": environment.tasks()[0]})
    assert final["fault"] == ""
    return final, model


def outcomes(final):
    return [(trial["verdict"], trial["success"]) for trial in final["trials"]]


@pytest.mark.parametrize(
    ("says", "threshold", "expected"),
    [
        ([BAD, "bye half", GOOD], 1.0, [(False, False, 0.0), (False, False, 0.5), (True, True, 1.0)]),
        ([BAD, "bye half"], 0.5, [(False, False, 0.0), (True, True, 0.5)]),
        (["bye unknown", GOOD], 1.0, [(False, None, 0.0), (True, True, 1.0)]),
    ],
    ids=["whole", "threshold", "unknown truth"],
)
def test_the_environments_reward_is_the_verdict_by_default(says, threshold, expected):
    final, _ = played(says, profile=replace(PROFILES["paper"], threshold=threshold))
    assert final["status"] == "solved"
    assert [(trial["verdict"], trial["success"], trial["score"]) for trial in final["trials"]] == expected


def test_a_wrong_yes_ends_the_task_and_a_wrong_no_continues_it():
    final, _ = played([BAD, GOOD], verdicts=["yes"], evaluator="llm")
    assert (final["status"], outcomes(final)) == ("solved", [(True, False)])
    final, model = played([GOOD, BAD], verdicts=["no", "no"], evaluator="llm")
    assert (final["status"], outcomes(final)) == ("failed", [(False, True), (False, False)])
    assert [asks_for(prompt) for prompt in model.prompts] == ["act", "judge", "reflect", "act", "judge"]


@pytest.mark.parametrize(
    ("said", "success"),
    [
        ("Verdict: yes", True),
        ("Verdict: **Yes**", True),
        ("Verdict: yes\nOn second thought:\nVerdict: no", False),
    ],
)
def test_only_a_clear_yes_of_the_judge_is_a_success(said, success):
    model = ScriptedChatModel(replies=[f"Action: say {BAD}", said])
    graph = create_reflexion(model, parrot(), evaluator="llm", max_trials=1).compile()
    final = graph.invoke({"task": parrot().tasks()[0]})
    assert final["trials"][0]["verdict"] is success
    assert final["evaluation"]["feedback"] == said


def test_a_judge_without_a_verdict_is_asked_once_more():
    answers = [("Verdict: yes", True, []), ("Yes, it was.", True, []), ("No.", False, [])]
    for again, success, notes in [*answers, ("Well, yes.", False, [NO_VERDICT])]:
        model = ScriptedChatModel(replies=[f"Action: say {BAD}", "Verdict: yesterday", again])
        graph = create_reflexion(model, parrot(), evaluator="llm", max_trials=1).compile()
        final = graph.invoke({"task": parrot().tasks()[0]})
        assert (final["trials"][0]["verdict"], final["trials"][0]["notes"]) == (success, notes)
        assert model.prompts[2][:-2] == model.prompts[1]
        assert [message.text for message in model.prompts[2][-2:]] == ["Verdict: yesterday", ASKED_AGAIN]


def test_the_reflection_model_judges_the_whole_trial_and_is_charged():
    counted = AIMessage("Verdict: no", usage_metadata={"input_tokens": 5, "output_tokens": 1, "total_tokens": 6})
    model = ScriptedChatModel(replies=["Thought: hm\nAction: say hello", f"Action: say {BAD}"] * 2)
    judge = ScriptedChatModel(replies=[counted, "Think.", "Verdict: yes"])
    graph = create_reflexion(model, parrot(), reflection_model=judge, evaluator="llm", max_trials=2).compile()
    final = graph.invoke({"task": parrot().tasks()[0]})
    assert [asks_for(prompt) for prompt in judge.prompts] == ["judge", "reflect", "judge"]
    assert {asks_for(prompt) for prompt in model.prompts} == {"act"}
    told = text_of(judge.prompts[0])
    for line in ("A parrot looks at you.", "Thought: hm", "Action: say hello", "The parrot says: bye wrong."):
        assert line in told
    usage = final["trials"][0]["usage"]
    assert (usage["act"]["llm_calls"], usage["act"]["input_tokens"]) == (2, 0)
    assert [usage["evaluate"][key] for key in ("llm_calls", "input_tokens", "output_tokens")] == [1, 5, 1]


async def later(*_):
    return 0.75, "nearly"


class Mine(Evaluator):
    async def evaluate(self, state, config):
        return Score(0.75, "mine")


@pytest.mark.parametrize(
    ("evaluator", "score", "words"),
    [
        (lambda *_: True, 1.0, ""),
        (lambda *_: (False, "why"), 0.0, "why"),
        (lambda *_: {"score": 0.75, "feedback": "why"}, 0.75, "why"),
        (later, 0.75, "nearly"),
        (Mine(), 0.75, "mine"),
    ],
)
def test_an_evaluator_returns_a_verdict_in_several_forms(evaluator, score, words):
    final, _ = played([BAD], evaluator=evaluator)
    assert final["evaluation"] == {"success": score == 1.0, "score": score, "feedback": words}
    assert type(final["evaluation"]["score"]) is float
    assert final["trials"][0]["success"] is False
    json.dumps(final)


@pytest.mark.parametrize(
    ("returned", "error"),
    [(None, "return"), (("yes", 1.0), "return"), ({"feedback": "?"}, "return"), (float("nan"), "finite")],
    ids=str,
)
def test_any_other_verdict_is_an_error(returned, error):
    with pytest.raises((ConfigurationError, ValueError), match=error):
        played([BAD], evaluator=lambda *_: returned)


def test_an_evaluator_that_cannot_judge_is_a_fault():
    class Down(Evaluator):
        async def evaluate(self, state, config):
            raise EnvironmentFault("the sandbox did not start")

    model = ScriptedChatModel(replies=[f"Action: say {GOOD}"])
    final = create_reflexion(model, parrot(), evaluator=Down()).compile().invoke({"task": parrot().tasks()[0]})
    assert (final["status"], final["fault"]) == ("fault", "the sandbox did not start")
    assert (final["trials"][0]["verdict"], final["trials"][0]["success"]) == (None, None)
