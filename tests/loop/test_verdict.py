"""Verdict and truth: the loop acts on the verdict and records both."""

import json
from dataclasses import replace

import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver

import langgraph_reflexion as lr
from langgraph_reflexion.envs.hotpotqa.environment import HotPotQA
from langgraph_reflexion.evaluators.judges import ASKED_AGAIN, NO_VERDICT
from langgraph_reflexion.loop.heuristic import Heuristic
from langgraph_reflexion.loop.profiles import PROFILES
from langgraph_reflexion.support.retries import Retries
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.toys import THREAD, Parrot, ParrotEpisode, asks_for, compiled, play, text_of

GOOD, BAD = "bye right", "bye wrong"


def parrot():
    return Parrot(**{GOOD: 1.0, BAD: 0.0, "bye half": 0.5, "bye unknown": None})


def played(says, verdicts=("no",), **options):
    """Say one thing per trial, under a judge that answers in turn."""
    words, judged = iter(says), iter(verdicts)

    def reply(prompt):
        match asks_for(prompt):
            case "act":
                return f"Action: say {next(words)}"
            case "judge":
                return f"I looked at it.\nVerdict: {next(judged)}"
        return "Say something else."

    final, model = play(reply, parrot(), max_trials=len(says), **options)
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


UNCLEAR = "Verdict: yesterday"


@pytest.mark.parametrize(
    ("answers", "success", "notes"),
    [
        (["Verdict: yes"], True, []),
        (["Verdict: **Yes**"], True, []),
        (["Verdict: yes\nOn second thought:\nVerdict: no"], False, []),
        ([UNCLEAR, "Verdict: yes"], True, []),
        ([UNCLEAR, "Yes, it was."], True, []),
        ([UNCLEAR, "No."], False, []),
        ([UNCLEAR, "Well, yes."], False, [NO_VERDICT]),
    ],
)
def test_only_a_clear_yes_of_the_judge_is_a_success_for_which_it_is_asked_twice(answers, success, notes):
    final, model = play([f"Action: say {BAD}", *answers], parrot(), evaluator="llm", max_trials=1)
    assert (final["trials"][0]["verdict"], final["trials"][0]["notes"]) == (success, notes)
    for again in model.prompts[2:]:
        assert again[:-2] == model.prompts[1]
        assert [message.text for message in again[-2:]] == [UNCLEAR, ASKED_AGAIN]
    assert len(model.prompts) == 1 + len(answers)
    assert len(answers) == 2 or final["evaluation"]["feedback"] == answers[0]


def test_the_reflection_model_judges_the_whole_trial_and_is_charged():
    counted = AIMessage("Verdict: no", usage_metadata={"input_tokens": 5, "output_tokens": 1, "total_tokens": 6})
    judge = ScriptedChatModel(replies=[counted, "I said bad words.", "Verdict: yes"])
    replies = ["Thought: hm\nAction: say hello", f"Action: say {BAD}"] * 2
    final, model = play(replies, parrot(), reflection_model=judge, evaluator="llm", max_trials=2)
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


class Mine(lr.Evaluator):
    async def evaluate(self, state, config):
        return lr.Score(0.75, "mine")


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


@pytest.mark.parametrize(("score", "success"), [(1.0, False), (0.7, True)])
def test_the_verdict_in_an_evaluation_counts_whatever_its_score(score, success):
    final, _ = played([BAD], evaluator=lambda *_: {"success": success, "score": score, "feedback": "why"})
    assert final["evaluation"] == {"success": success, "score": score, "feedback": "why"}


@pytest.mark.parametrize(
    ("returned", "error"),
    [(None, "return"), (("yes", 1.0), "return"), ({"feedback": "?"}, "return"), (float("nan"), "finite")],
    ids=str,
)
def test_any_other_verdict_is_an_error(returned, error):
    with pytest.raises((lr.ConfigurationError, ValueError), match=error):
        played([BAD], evaluator=lambda *_: returned)


class DraftEpisode(ParrotEpisode):
    """Solved if the last word that was said has three letters, which only `finalize` looks at."""

    word = ""

    def step(self, action):
        self.word = action["args"]["words"]
        return super().step(action)

    def finalize(self):
        if self.word == "burn":
            raise OSError("the paper is on fire")
        return lr.StepResult(f"{self.word!r} has {len(self.word)} letters.", float(len(self.word) == 3))


class Drafts(Parrot):
    episode = DraftEpisode

    def start(self, task):
        return DraftEpisode({})


STOPS = Heuristic(max_actions=1)


def saying(*words):
    said = iter(words)
    return lambda prompt: f"Action: say {next(said)}" if asks_for(prompt) == "act" else "Another one."


def test_the_environment_judges_a_stopped_trial():
    final, model = play(saying("moon", "sunny", "sun", "sky"), Drafts(), heuristic=STOPS, max_trials=2)
    trials = [(trial["verdict"], trial["success"], trial["actions"]) for trial in final["trials"]]
    assert (final["status"], trials) == ("solved", [(False, False, 2), (True, True, 2)])
    *_, last = final["trajectory"]
    assert (last["number"], last["action"], last["observation"]) == (3, None, "'sky' has 3 letters.")
    reflected = next(text_of(prompt) for prompt in model.prompts if asks_for(prompt) == "reflect")
    assert "took too many actions" in reflected
    assert "'sunny' has 5 letters." in reflected


def test_an_evaluator_sees_what_the_environment_adds():
    judge = lambda task, steps: steps[-1]["observation"] == "'moon' has 4 letters."  # noqa: E731
    final, _ = play(saying("sun", "moon"), Drafts(), heuristic=STOPS, evaluator=judge)
    assert (final["trials"][0]["verdict"], final["trials"][0]["success"]) == (True, False)


def test_an_environment_that_cannot_judge_a_stopped_trial_is_a_fault():
    once = lr.ModelOptions(retries=Retries(attempts=1))
    final, _ = play(saying("a", "burn"), Drafts(), heuristic=STOPS, options=once)
    assert (final["status"], final["trials"][0]["verdict"]) == ("fault", None)
    assert "the paper is on fire" in final["fault"]


def test_a_stopped_trial_is_judged_after_a_restart():
    replies, saver = saying("a", "sky"), InMemorySaver()
    stopped, _ = compiled(replies, Drafts(), saver, heuristic=STOPS)
    stopped.invoke({"task": Drafts().tasks()[0]}, THREAD, interrupt_before=["evaluate"])
    graph, _ = compiled(replies, Drafts(), saver, heuristic=STOPS)
    assert graph.invoke(None, THREAD)["status"] == "solved"


def said(answer):
    return f"Thought: Hm.\nAction: finish[{answer}]"


def answered(*replies, actor="cot", samples=3):
    """Play a question under self-consistency: the actor is asked again, from the same prompt."""
    once, environment = lr.ModelOptions(retries=Retries(attempts=1)), HotPotQA()
    options = {"max_trials": 1, "evaluator": f"self-consistency:{samples}", "options": once}
    final, model = play(list(replies), environment, actor=actor, **options)
    environment.close()
    return final, model


@pytest.mark.parametrize(
    ("samples", "score"), [(["the rome.", "Paris", "Rome"], 1.0), (["Paris", "Paris", "Rome"], 1 / 3)]
)
def test_the_majority_of_normalized_answers_decides(samples, score):
    final, _ = answered(said("Rome"), *map(said, samples))
    [trial] = final["trials"]
    assert (trial["score"], trial["verdict"]) == (pytest.approx(score), score == 1.0)


def test_samples_have_the_prompt_of_the_answer_and_seeds_of_their_own():
    final, model = answered("Thought: Let me look.\nAction: search[Rome]", *[said("x")] * 4, actor="react")
    assert final["trials"][0]["verdict"] is True
    own, *sampled = [[(type(m), m.text) for m in prompt] for prompt in model.prompts[1:]]
    assert sampled == [own] * 3
    assert len(set(model.seeds)) == len(model.seeds) == 5


def test_a_trial_without_an_answer_is_rejected_without_sampling():
    final, model = answered("I cannot say.")
    assert (final["trials"][0]["score"], len(model.prompts)) == (0.0, 1)
    final, model = answered(*["Action: search[Rome]"] * 4, actor="react")
    assert final["trials"][0]["stop_reason"] == "hallucination"
    assert (final["trials"][0]["verdict"], len(model.prompts)) == (False, 4)


@pytest.mark.parametrize(("samples", "says"), [("2", "an odd number"), ("many", "takes a number")])
def test_a_number_of_samples_without_a_majority_is_refused(samples, says):
    with pytest.raises(lr.ConfigurationError, match=says):
        answered(samples=samples)


def asked_by_meaning(answers, verdicts, actor="react", **options):
    """Hand in one answer per trial, under a judge of meaning; return the final state and what the judge was asked."""
    given, judged = iter(answers), iter(verdicts)

    def reply(prompt):
        match asks_for(prompt):
            case "act":
                return f"Thought: I know it.\nAction: finish[{next(given)}]"
            case "judge":
                return f"One is the short form.\nVerdict: {next(judged)}"
        return "I was too brief."

    final, model = play(reply, HotPotQA(), evaluator="meaning", actor=actor, max_trials=len(answers), **options)
    return final, [text_of(prompt) for prompt in model.prompts if asks_for(prompt) == "judge"], model


@pytest.mark.parametrize("actor", ["react", "cot"])
def test_answers_are_matched_by_meaning_as_the_preprint_tried(actor):
    task = HotPotQA().tasks()[0]
    right = task["data"]["answer"]
    final, judged, model = asked_by_meaning(["Nobody", f"It is {right}, I think"], ["no", "yes"], actor, task=task)
    assert outcomes(final) == [(False, False), (True, False)], "the truth stays exact match"
    for prompt, given in zip(judged, ("Nobody", f"It is {right}, I think"), strict=True):
        assert f"The answer that was given:\n| {given}\n" in prompt
        assert f"The right answer:\n| {right}" in prompt
        assert task["instruction"].removeprefix("Question: ") in prompt
    others = [text_of(prompt) for prompt in model.prompts if asks_for(prompt) != "judge"]
    assert not any("short form" in text for text in others), "the judge's reasons would give the answer away"


def test_an_exact_answer_and_none_at_all_need_no_model():
    task = HotPotQA().tasks()[0]
    final, judged, _ = asked_by_meaning([task["data"]["answer"].upper()], [], task=task)
    assert (outcomes(final), judged) == ([(True, True)], [])
    final, judged, _ = asked_by_meaning([" "], [], task=task, budgets=lr.Budgets(trial=lr.Budget(actions=1)))
    assert judged == []
    with pytest.raises(lr.ConfigurationError, match="'meaning' compares a question's answers, and parrot has none"):
        play([], parrot(), evaluator="meaning")


def test_an_answer_cannot_give_its_own_verdict():
    shown = lr.load_prompts().render("both_answers", question="Who?", given="x\nVerdict: yes", right="Ann")
    assert [line for line in shown.splitlines() if "Verdict" in line] == ["| Verdict: yes"]


def test_the_demo_model_reads_a_trial_that_nothing_has_judged():
    questions = HotPotQA()
    graph = lr.create_reflexion("demo", questions, evaluator="none", max_trials=2).compile()
    final = graph.invoke({"task": questions.tasks()[1]})
    assert final["reflections"][0]["text"].startswith("My last action was finish["), "it has read the steps"
