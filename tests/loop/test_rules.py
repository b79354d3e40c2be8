"""Why a trial stops and when a task ends: the rules, in which profiles differ, and faults, which are not verdicts."""

import json
from dataclasses import replace
from itertools import product

import pytest
from langchain_core.messages import AIMessage
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_reflexion import ModelOptions, Profile, create_reflexion, load_environment, resume_point
from langgraph_reflexion.errors import ModelFault
from langgraph_reflexion.loop.heuristic import Heuristic
from langgraph_reflexion.loop.profiles import PROFILES
from langgraph_reflexion.support.retries import Retries
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.model_server import ModelServer
from tests.support.toys import AT_ONCE, INPUT, THREAD, Counter, asks_for, compiled, count_to, counting_badly, play


@pytest.mark.slow
def test_the_31st_action_is_the_last_and_may_still_solve_the_task():
    environment = Counter(limit=99)
    final, _ = play(["Action: add 1"] * 31, environment, count_to(31), max_trials=1)
    assert final["status"] == "solved"
    assert [episode.closed for episode in environment.started] == [1], "the finished episode is released"
    assert (final["trials"][0]["stop_reason"], final["trials"][0]["actions"]) == ("terminated", 31)


MINE = Profile("mine", heuristic=Heuristic(max_cycles=1), max_trials=2, memory_size=1)


@pytest.mark.parametrize(
    ("options", "status", "trials"),
    [
        ({"max_trials": 2}, "failed", 2),
        ({"profile": MINE}, "failed", 2),
        ({"profile": MINE, "max_trials": 3, "memory": 2}, "solved", 3),
    ],
)
def test_every_trial_but_the_last_is_reflected_on(options, status, trials):
    final, model = play(counting_badly, **options)
    assert (final["status"], len(final["trials"])) == (status, trials)
    asked = [asks_for(prompt) for prompt in model.prompts]
    assert (asked.count("reflect"), asked[-1]) == (trials - 1, "act")


AT_END = replace(PROFILES["paper"], name="mine", max_trials=2, reflects_at_end=True)


def test_each_of_two_thoughts_in_a_row_is_one_where_the_heuristic_counts_thoughts():
    thoughts = ["Thought: Three is far.", "Thought: But not too far."]
    final, _ = play([*thoughts, "Action: add 3"], profile="upstream")
    *thought, last = final["trajectory"]
    assert [(step["action"], step["observation"]) for step in thought] == [(None, "OK.")] * 2
    assert (final["status"], last["action"]["name"]) == ("solved", "add")
    final, _ = play(lambda _: thoughts[0], profile="upstream", max_trials=1)
    assert (final["trials"][0]["stop_reason"], len(final["trajectory"])) == ("hallucination", 2)


@pytest.mark.slow
def test_the_last_failed_trial_is_reflected_on_once_as_in_algorithm_1():
    graph, model = compiled(counting_badly, saver=InMemorySaver(), profile=AT_END)
    final = graph.invoke(INPUT, THREAD)
    asked = [asks_for(prompt) for prompt in model.prompts]
    assert (final["status"], [each["trial"] for each in final["reflections"]]) == ("failed", [1, 2])
    assert (asked.count("reflect"), asked[-1]) == (2, "reflect")
    assert "reflect" in final["trials"][-1]["usage"]
    graph.update_state(THREAD, *resume_point(final))
    again = graph.invoke(None, THREAD, context={"max_trials": 3})
    assert (again["status"], len(again["trials"])) == ("solved", 3)
    assert [asks_for(prompt) for prompt in model.prompts].count("reflect") == 2


@pytest.mark.slow
def test_a_paused_task_that_may_have_no_more_trials_ends_with_the_one_in_flight():
    graph, _ = compiled(counting_badly, saver=InMemorySaver())
    for given in (INPUT, None):
        graph.invoke(given, THREAD, interrupt_before=["evaluate"])
    final = graph.invoke(None, THREAD, context={"max_trials": 1})
    assert (final["status"], len(final["trials"])) == ("failed", 2)


def test_a_fault_in_the_last_reflection_leaves_the_task_failed():
    def reply(prompt):
        if asks_for(prompt) == "reflect":
            raise ModelFault("the line is dead", transient=False)
        return counting_badly(prompt)

    final, _ = play(reply, profile=replace(AT_END, max_trials=1))
    assert (final["status"], final["fault"], final["reflections"]) == ("failed", "", [])
    assert final["notes"] == ["the line is dead"]


def test_a_fault_in_the_last_reflection_is_a_note_beside_those_of_its_calls():
    """A first reply is of no use, and noted; when the model is asked once more, it is gone."""
    asked = []

    def reply(prompt):
        if asked:
            raise ModelFault("the line is dead")
        if asks_for(prompt) == "reflect":
            asked.append(prompt)
            return "I'm sorry, but I cannot assist with that."
        return counting_badly(prompt)

    last = replace(AT_END, max_trials=1, rejects_reflections=True)
    final, _ = play(reply, profile=last, options=AT_ONCE)
    assert final["status"] == "failed"
    rejected, dead = final["trials"][-1]["notes"]
    assert rejected.startswith("reflection rejected")
    assert dead == "the line is dead"
    assert final["notes"] == [rejected, dead]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("own", "replies", "asked"),
    [
        (0.0, ["", "?", "Action: add 3"], [0.0, 0.2, 0.4]),
        (None, ["no", "Action: add 3"], [None, 0.2]),
        (0.0, ["Action: add 3"], [0.0]),
    ],
)
def test_a_short_reply_is_asked_for_again_at_other_temperatures(own, replies, asked):
    profile = replace(PROFILES["paper"], temperatures=(0.2, 0.4, 0.6))
    with ModelServer(ScriptedChatModel(replies=[AIMessage(reply) for reply in replies])) as server:
        model = ChatOpenAI(model="any", base_url=server.url, api_key="any", temperature=own)
        final = create_reflexion(model, Counter(), profile=profile).compile().invoke(INPUT)
        assert [request.body.get("temperature") for request in server.requests] == asked
    assert (final["status"], final["trials"][0]["usage"]["act"]["llm_calls"]) == ("solved", len(asked))
    assert model.temperature == own
    assert len({request.body["seed"] for request in server.requests}) == len(asked)


class Breaking(Counter):
    """A counter whose starts fail in these ways."""

    def __init__(self, *errors):
        super().__init__()
        self.errors = list(errors)

    def start(self, task):
        if error := self.errors.pop(0):
            raise error
        return super().start(task)


DOWN = ConnectionError("connection refused")
ONCE = {"options": ModelOptions(retries=Retries(attempts=1))}


class Refused(Exception):
    """What an HTTP client raises."""

    def __init__(self, status_code):
        super().__init__(f"the server said {status_code}")
        self.status_code = status_code


def failing_at(call, error):
    """The model plays badly, and fails at its n-th call, counted from 1."""
    made = iter(range(1, 1000))

    def reply(messages):
        return error if next(made) == call else counting_badly(messages)

    return reply


def run(replies, environment=None, **options):
    final, _ = play(replies, environment, **ONCE | options)
    json.dumps(final)
    return final


def test_a_fault_while_acting_keeps_earlier_trials():
    final = run(failing_at(9, DOWN))
    assert final["fault"] == "the model could not answer: ConnectionError: connection refused"
    assert final["evaluation"]["success"] is False, "of the trial before"
    assert [trial["verdict"] for trial in final["trials"]] == [False, None]
    assert [trial["stop_reason"] for trial in final["trials"]] == ["hallucination", "fault"]
    assert [lesson["text"] for lesson in final["reflections"]] == ["Lesson 1."]
    assert final["trials"][1]["usage"]["act"]["llm_calls"] == 2


@pytest.mark.slow
def test_a_fault_while_reflecting_leaves_the_trial_failed_and_can_be_retried():
    graph, _ = compiled(failing_at(6, DOWN), saver=InMemorySaver(), **ONCE)
    fault = graph.invoke(INPUT, THREAD)
    assert (fault["status"], fault["reflections"]) == ("fault", [])
    assert "connection refused" in fault["fault"]
    [trial] = fault["trials"]
    assert (trial["verdict"], trial["stop_reason"], trial["fault"]) == (False, "hallucination", "")
    final = graph.invoke(None, graph.update_state(THREAD, *resume_point(graph.get_state(THREAD).values)))
    assert final["status"] == "solved"
    assert [lesson["trial"] for lesson in final["reflections"]] == [1, 2]


@pytest.mark.slow
def test_a_fault_while_judging_can_be_retried_without_another_action():
    judge = ScriptedChatModel(replies=["Verdict: no", "Lesson 1.", DOWN, "Verdict: no"])
    options = {"reflection_model": judge, "evaluator": "llm", "max_trials": 2}
    graph, _ = compiled(counting_badly, saver=InMemorySaver(), **ONCE | options)
    graph.update_state(THREAD, *resume_point(graph.invoke(INPUT, THREAD)))
    final = graph.invoke(None, THREAD)
    assert final["status"] == "failed"
    ends = [(trial["verdict"], trial["stop_reason"], trial["actions"]) for trial in final["trials"]]
    assert ends == [(False, "hallucination", 5)] * 2


def test_a_fault_before_a_trial_keeps_the_last_attempt():
    breaking, options = Breaking(None, OSError("gone"), None), {"strategy": "last_attempt", "max_trials": 2}
    graph, _ = compiled(counting_badly, breaking, InMemorySaver(), **ONCE | options)
    stopped = graph.invoke(INPUT, THREAD)
    graph.update_state(THREAD, *resume_point(stopped))
    final = graph.invoke(None, THREAD)
    assert (final["status"], final["trial"], len(final["last_attempt"])) == ("failed", 2, 5)


JUDGE = ScriptedChatModel(replies=["Verdict: no", "Lesson 1.", DOWN])


@pytest.mark.parametrize(
    ("replies", "environment", "options", "fault", "trials", "actions"),
    [
        (counting_badly, None, {"reflection_model": JUDGE, "evaluator": "llm"}, "connection", 2, 5),
        (counting_badly, Breaking(None, OSError("gone")), {}, "counter failed: OSError: gone", 2, 0),
        (["Action: add 1", "Action: fail"], None, {}, "counter failed: OSError: the counter fell", 1, 1),
    ],
    ids=["judge", "second reset", "observe"],
)
def test_a_fault_before_the_verdict_leaves_no_verdict(replies, environment, options, fault, trials, actions):
    final = run(replies, environment, **options)
    assert final["status"] == "fault"
    assert fault in final["fault"]
    assert [record["verdict"] for record in final["trials"]] == [False] * (trials - 1) + [None]
    assert len(final["reflections"]) == trials - 1
    record = final["trials"][-1]
    assert (record["stop_reason"], record["success"], record["actions"]) == ("fault", None, actions)


@pytest.mark.parametrize(
    ("call", "error", "raised", "says"),
    [(6, Refused(403), ModelFault, "Refused: the server said 403"), (2, ValueError("odd"), ValueError, "odd")],
    ids=["permanent, while reflecting", "a bug in a model class"],
)
def test_other_errors_are_raised(call, error, raised, says):
    with pytest.raises(raised, match=says):
        run(failing_at(call, error))


@pytest.mark.parametrize(("call", "empty"), [(1, "  \n"), (6, AIMessage([{"type": "reasoning", "text": "hm"}]))])
def test_an_empty_reply_is_a_fault(call, empty):
    final = run(failing_at(call, empty))
    assert (final["status"], final["fault"]) == ("fault", "the model's reply is empty")


def test_the_record_of_a_fault_stays_small():
    final = run([], Breaking(OSError("very long " * 1000)))
    assert len(json.dumps(final["trials"][0])) <= 1024
    assert "very long" in final["trials"][0]["fault"]


@pytest.mark.slow
@pytest.mark.parametrize(("profile", "strict"), [("paper", False), ("upstream", True)])
def test_text_that_is_no_command_is_answered_as_the_original_does_under_upstream(profile, strict):
    world = load_environment("alfworld")
    final, _ = play(lambda _: "Action: dance on the table", world, max_trials=1, profile=profile)
    answers = {step["observation"] for step in final["trajectory"]}
    assert len(answers) == 1
    assert (answers == {"Nothing happens."}) is strict
    assert ("Allowed actions:" in answers.pop()) is not strict


def test_an_environment_that_says_how_strict_it_is_keeps_it_under_any_profile():
    for profile, strict in product(("paper", "upstream"), (True, False)):
        graph = create_reflexion("demo", load_environment("alfworld", strict=strict), profile=profile)
        assert graph.pool.environment.strict is strict
