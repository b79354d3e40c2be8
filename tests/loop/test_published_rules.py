"""Rules in which the profiles differ: thoughts in a row, the last reflection, temperatures."""

from dataclasses import replace

import pytest
from langchain_core.messages import AIMessage
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_reflexion import ModelFault, create_reflexion, resume_point
from langgraph_reflexion.profiles import PROFILES
from langgraph_reflexion.testing import ModelServer, ScriptedChatModel
from tests.support.toys import Counter, asks_for, count_to, counting_badly

THREAD = {"configurable": {"thread_id": "one"}}
AT_END = replace(PROFILES["paper"], name="mine", max_trials=2, reflects_at_end=True)


def counting(profile, replies=counting_badly, **options):
    model = ScriptedChatModel(replies=replies)
    graph = create_reflexion(model, Counter(), profile=profile, **options)
    return graph.compile(checkpointer=InMemorySaver()), model


@pytest.mark.parametrize(("profile", "observed"), [("upstream", "OK."), ("paper", "allowed actions")])
def test_a_second_thought_in_a_row_is_one_where_the_heuristic_counts_thoughts(profile, observed):
    replies = ["Thought: Three is far.", "Thought: But not too far.", "Action: add 3"]
    final = counting(profile, replies)[0].invoke({"task": count_to(3)}, THREAD)
    first, second, last = final["trajectory"]
    assert (first["observation"], final["status"], last["action"]["name"]) == ("OK.", "solved", "add")
    assert (second["action"] is None) == (profile == "upstream")
    assert second["thought"] == "But not too far."
    assert observed in second["observation"] or "nvalid" in second["observation"]


def test_endless_thoughts_end_where_they_count():
    final = counting("upstream", lambda _: "Thought: Three is far.", max_trials=1)[0].invoke(
        {"task": count_to(3)}, THREAD
    )
    assert (final["trials"][0]["stop_reason"], len(final["trajectory"])) == ("hallucination", 2)


def test_the_last_failed_trial_is_reflected_on_as_in_algorithm_1():
    graph, model = counting(AT_END)
    final = graph.invoke({"task": count_to(3)}, THREAD)
    assert (final["status"], [each["trial"] for each in final["reflections"]]) == ("failed", [1, 2])
    asked = [asks_for(prompt) for prompt in model.prompts]
    assert (asked.count("reflect"), asked[-1]) == (2, "reflect")
    assert "reflect" in final["trials"][-1]["usage"]


def test_a_task_that_goes_on_after_its_last_reflection_does_not_reflect_again():
    graph, model = counting(AT_END)
    final = graph.invoke({"task": count_to(3)}, THREAD)
    graph.update_state(THREAD, *resume_point(final))
    again = graph.invoke(None, THREAD, context={"max_trials": 3})
    assert (again["status"], len(again["trials"])) == ("solved", 3)
    assert [asks_for(prompt) for prompt in model.prompts].count("reflect") == 2


def test_a_fault_in_the_last_reflection_leaves_the_task_failed():
    def reply(prompt):
        if asks_for(prompt) == "reflect":
            raise ModelFault("the line is dead", transient=False)
        return counting_badly(prompt)

    final = counting(replace(AT_END, max_trials=1), reply)[0].invoke({"task": count_to(3)}, THREAD)
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
        final = create_reflexion(model, Counter(), profile=profile).compile().invoke({"task": count_to(3)})
        assert [request.body.get("temperature") for request in server.requests] == asked
    assert (final["status"], final["trials"][0]["usage"]["act"]["llm_calls"]) == ("solved", len(asked))
    assert model.temperature == own
    assert len({request.body["seed"] for request in server.requests}) == len(asked)
