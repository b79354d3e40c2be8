"""Several evaluators of one trial: all have to accept it."""

import pytest

from langgraph_reflexion import ConfigurationError, Evaluator, Score, create_reflexion
from langgraph_reflexion.evaluators.all_of import AllOf
from langgraph_reflexion.evaluators.function import CommandEvaluator
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.composing import TASK, Guessing


class Check:
    """A function with a name, which counts how often it is asked."""

    def __init__(self, name, verdict):
        self.__name__ = name
        self.verdict = verdict
        self.asked = 0

    def __call__(self, task, result):
        self.asked += 1
        return self.verdict


def run(evaluator, max_trials=1):
    return Guessing().graph(evaluator=evaluator, max_trials=max_trials).compile().invoke({"task": TASK})


def test_a_later_one_is_asked_only_if_those_before_accept():
    first, second, third = Check("first", True), Check("second", (0.4, "Too low.")), Check("third", (0.1, "No."))
    final = run([first, second, third])
    assert (first.asked, second.asked, third.asked) == (1, 1, 0)
    assert final["evaluation"] == {"success": False, "score": 0.4, "feedback": "second: Too low."}


def test_all_are_asked_if_wanted_and_the_lowest_score_counts():
    second, third = Check("second", (0.4, "Too low.")), Check("third", (0.1, "No."))
    final = run(AllOf(Check("first", (1.0, "Fine.")), second, third, ask_all=True))
    assert third.asked == 1
    feedback = "first: Fine.\n\nsecond: Too low.\n\nthird: No."
    assert final["evaluation"] == {"success": False, "score": 0.1, "feedback": feedback}


def test_a_trial_that_all_accept_is_solved():
    final = run([Check("first", True), CommandEvaluator("grep -q 1 && echo found"), Check("last", True)])
    assert final["status"] == "solved"
    assert final["evaluation"]["score"] == 1.0
    assert final["evaluation"]["feedback"] == "grep -q 1 && echo found: found"


def test_the_next_trial_reads_whose_words_they_are():
    seen = []

    def agent(messages):
        seen.append(messages[-1].text)
        return "It is so."

    check = Check("has_source", (False, "Name a source."))
    graph = create_reflexion(actor=agent, evaluator=[check], strategy="feedback", max_trials=2)
    graph.compile().invoke({"task": TASK})
    assert "has_source: Name a source." not in seen[0]
    assert "has_source: Name a source." in seen[1]


class Counting(Evaluator):
    """Counts its own trials in what is prepared, and accepts from one on."""

    def __init__(self, begins, accepts_from):
        self.begins = begins
        self.accepts_from = accepts_from

    async def prepare(self, task, config):
        return {"count": self.begins}

    async def evaluate(self, state, config):
        count = state["task"]["prepared"]["count"] + 1
        words = f"{count} of {self.accepts_from}."
        return Score(0.5, words, success=count >= self.accepts_from, prepared={"count": count})


def test_each_finds_what_it_has_prepared_itself_and_gives_its_own_verdict():
    final = run(AllOf(Counting(0, 2), Counting(10, 12), ask_all=True), max_trials=3)
    assert final["status"] == "solved"
    assert [record["score"] for record in final["trials"]] == [0.5, 0.5]
    assert final["evaluation"]["feedback"] == "Counting: 2 of 2.\n\nCounting: 12 of 12."


def test_those_within_another_find_what_they_have_prepared():
    final = run([AllOf(Counting(0, 2), Counting(0, 1)), Check("fine", True)], max_trials=2)
    assert final["status"] == "solved"


class Unsure(Evaluator):
    async def evaluate(self, state, config):
        return Score(0.0, "Nobody knows.", unverified=True)


def test_a_refusal_is_unverified_only_if_nothing_was_checked():
    assert run([Check("fine", True), Unsure()])["evaluation"]["unverified"] is True
    assert "unverified" not in run(AllOf(Check("wrong", False), Unsure(), ask_all=True))["evaluation"]


def test_what_cannot_be_combined_is_refused():
    with pytest.raises(ConfigurationError, match="AllOf needs at least one evaluator"):
        run([])
    with pytest.raises(ConfigurationError, match="scores are at most 1"):
        run([Check("of_ten", 7), Check("fine", 1.0)])
    with pytest.raises(ConfigurationError, match="asks a chat model"):
        create_reflexion(actor=lambda task: "x", evaluator=[Check("fine", True), "llm"], strategy="retry")


def test_a_judge_after_a_check_can_only_veto():
    judge = ScriptedChatModel(replies=lambda messages: "It is rude.\n\nVerdict: no")
    for accepted, asked in ((False, 0), (True, 1)):
        before = len(judge.prompts)
        graph = create_reflexion(
            judge,
            actor=lambda task: "Wait.",
            evaluator=[Check("exists", accepted), "llm"],
            strategy="retry",
            max_trials=1,
        )
        final = graph.compile().invoke({"task": TASK})
        assert final["status"] == "failed"
        assert len(judge.prompts) - before == asked
    assert final["evaluation"]["feedback"].startswith("The judge: It is rude.")
