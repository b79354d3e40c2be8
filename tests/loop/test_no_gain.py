"""A task stops at no gain: three judged trials with the same score (`Profile.stop_at_no_gain`)."""

from dataclasses import replace

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

import langgraph_reflexion as lr
from langgraph_reflexion.graph.resume import resume_point
from langgraph_reflexion.loop.profiles import PROFILES
from langgraph_reflexion.models.recorded import ended_at_no_gain
from tests.support.toys import THREAD, Parrot, asks_for, compiled

STOPPING = replace(PROFILES["paper"], name="mine", stop_at_no_gain=True)
NOTE = "stopped after 3 trials with the same score, 0.5"


def scored(scores, saver=None, **options):
    """A graph whose trials have these scores, one after the other; None for one in which nothing was checked."""
    left = iter(scores)

    def score(task, trajectory):
        next_score = next(left)
        if next_score is None:
            return {"success": False, "score": 0.5, "feedback": "", "unverified": True}
        return next_score

    def reply(prompt):
        if asks_for(prompt) == "reflect":
            return "I will say something else."
        return "Action: say bye"

    given = {"evaluator": score, "profile": STOPPING, "max_trials": 6, **options}
    return compiled(reply, Parrot(), saver, **given)[0]


TASK = {"task": Parrot().tasks()[0]}


@pytest.mark.parametrize(
    ("scores", "trials"),
    [
        ([0.5, 0.5, 0.5], 3),
        ([0.25, 0.5, 0.5, 0.5], 4),
        ([0.5, 0.25, 0.5, 0.5, 0.5], 5),
        ([0.5, 0.5, None, 0.5], 4),
        ([0.5, None, 0.5, None, 0.5], 5),
        ([0.5, (0.1 + 0.2 + 0.2), 0.49999999999999994], 3),
    ],
)
def test_three_judged_trials_with_the_same_score_stop_the_task(scores, trials):
    final = scored(scores).invoke(TASK)
    assert (final["status"], final["trial"]) == ("failed", trials)
    assert [NOTE in record["notes"] for record in final["trials"]] == [False] * (trials - 1) + [True]
    assert final["notes"] == [NOTE]
    assert [each["trial"] for each in final["reflections"]][-1] == trials - 1, "nothing reads another reflection"


@pytest.mark.parametrize(
    ("scores", "options", "status", "trials"),
    [
        ([0.5, 0.5, 1.0], {}, "solved", 3),
        ([0.5, 0.5, 0.75, 0.75, 0.5, 0.5], {}, "failed", 6),
        ([0.5, 0.5, 0.5], {"max_trials": 3}, "failed", 3),
        ([None] * 6, {}, "failed", 6),
        ([0.5] * 6, {"profile": "paper"}, "failed", 6),
        ([0.5, 0.5], {"budgets": lr.Budgets(task=lr.Budget(actions=2))}, "budget", 2),
    ],
    ids=["solved", "gains", "out of trials", "unverified", "off", "budget"],
)
def test_other_ends_are_not_called_no_gain(scores, options, status, trials):
    final = scored(scores, **options).invoke(TASK)
    assert (final["status"], final["trial"]) == (status, trials)
    assert not any(ended_at_no_gain(record["notes"]) for record in final["trials"])


def test_a_task_without_gain_is_over_also_where_a_budget_is_used_up():
    final = scored([0.5] * 3, budgets=lr.Budgets(task=lr.Budget(actions=3))).invoke(TASK)
    assert (final["status"], final["notes"]) == ("failed", [NOTE])


def test_what_a_person_has_ruled_is_not_the_same_score():
    approval = lr.Approval(verdicts=True)
    graph = scored([1.0] * 4, InMemorySaver(), approval=approval, max_trials=4)
    graph.invoke(TASK, THREAD)
    for advice in ("Louder.", "Slower.", "Longer."):
        rejected = {"decisions": [{"type": "reject", "message": advice}]}
        final = graph.invoke(Command(resume=rejected), THREAD)
    assert (final["status"], len(final["trials"])) == ("running", 3)
    assert "__interrupt__" in final


def test_the_answer_says_so():
    final = scored([0.5] * 3).invoke({"messages": [HumanMessage("polly")]})
    assert f"Not solved: {NOTE}." in final["messages"][-1].text


def test_a_caller_may_go_on_all_the_same():
    saver = InMemorySaver()
    graph = scored([0.5, 0.5, 0.5, 0.5], saver)
    stopped = graph.invoke(TASK, THREAD)
    graph.update_state(THREAD, *resume_point(stopped))
    final = graph.invoke(None, THREAD)
    assert [record["notes"] for record in final["trials"]] == [[], [], [], [NOTE]]
    assert [each["trial"] for each in final["reflections"]] == [1, 2, 3]


def test_an_agents_task_stops_as_well():
    actor = lr.WrappedAgent(lambda task: "The same.")
    given = {"evaluator": lambda task, result: 0.5, "strategy": "retry", "max_trials": 6, "profile": STOPPING}
    final = lr.create_reflexion(actor=actor, **given).compile().invoke({"task": "Guess."})
    assert (final["status"], final["trial"], final["notes"]) == ("failed", 3, [NOTE])
