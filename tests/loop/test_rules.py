"""Why a trial stops, when a task ends, and the rules in which the profiles differ."""

from dataclasses import replace

import pytest
from langchain_core.messages import AIMessage
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_reflexion import Heuristic, ModelFault, Profile, create_reflexion, resume_point
from langgraph_reflexion.profiles import PROFILES
from langgraph_reflexion.testing import ModelServer, ScriptedChatModel
from tests.support.toys import INPUT, THREAD, Counter, asks_for, compiled, count_to, counting_badly, play


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
