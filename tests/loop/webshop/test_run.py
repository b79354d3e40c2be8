"""The graph on WebShop: verdicts by reward, faults, resuming, reflections."""

import json
from itertools import repeat

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_reflexion import ModelOptions, create_reflexion
from langgraph_reflexion.demo.prompt import without_examples
from langgraph_reflexion.envs.webshop.environment import WebShop
from langgraph_reflexion.experiments.runner import run
from langgraph_reflexion.retries import Retries
from langgraph_reflexion.settings import RunSettings
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.toys import asks_for
from tests.support.webshop import CATALOGUE, catalogue_server, solution


@pytest.fixture
def server():
    with catalogue_server() as server:
        yield server


WAY = solution(CATALOGUE, CATALOGUE.goals[0])


def graph(environment, *actions, **options):
    model = ScriptedChatModel(replies=[f"Thought: Hm.\nAction: {action}" for action in actions])
    options = {"strategy": "retry", "max_trials": 1, "options": ModelOptions(retries=Retries(attempts=1)), **options}
    return create_reflexion(model, environment, **options), model


def play(environment, *actions, **options):
    made, model = graph(environment, *actions, **options)
    return made.compile().invoke({"task": environment.tasks(limit=1)[0]}), model


def test_the_right_purchase_solves_the_task():
    final, model = play(WebShop(), *WAY)
    assert (final["status"], final["trials"][0]["success"]) == ("solved", True)
    told = "\n".join(message.text for prompt in model.prompts[:1] for message in prompt)
    assert CATALOGUE.goals[0].instruction in told
    assert CATALOGUE.goals[0].asin not in told


def test_a_failing_server_is_a_fault(server):
    environment = WebShop(base_url=server.url)
    environment.tasks(limit=1)
    server.faults = repeat("500")
    final, _ = play(environment, *WAY)
    assert (final["status"], [trial["success"] for trial in final["trials"]]) == ("fault", [None])


def test_a_resumed_trial_repeats_no_request(server):
    def compiled(*actions):
        return graph(WebShop(base_url=server.url), *actions)[0].compile(checkpointer=saver, interrupt_before=["act"])

    saver, config = InMemorySaver(), {"configurable": {"thread_id": "1"}}
    compiled(*WAY).invoke({"task": WebShop(base_url=server.url).tasks(limit=1)[0]}, config)
    # Each step by another agent and environment, from the state alone.
    for action in WAY:
        compiled(action).invoke(None, config)
    final = compiled().get_state(config).values
    assert final["status"] == "solved"
    asked = [address.split("/")[1] for address in server.requests]
    assert (asked.count("search_results"), asked.count("done")) == (2, 1)


def test_a_run_reports_the_mean_reward(tmp_path):
    settings = RunSettings(environment="webshop", strategy="retry", max_trials=1, limit=4, seed=1)
    report = run(settings, tmp_path / "run").report
    rows = [json.loads(line) for line in (tmp_path / "run/trials.jsonl").read_text().splitlines()]
    assert {tuple(row["measures"]) for row in rows} == {("reward", "type", "attributes", "options", "price")}
    assert [row["success"] for row in rows] == [row["measures"]["reward"] == 1.0 for row in rows]
    rewards = [row["measures"]["reward"] for row in rows]
    assert report.measures["reward"][0] == pytest.approx(sum(rewards) / 4, abs=1e-4)


LESSON = "I bought the first thing that I saw. Next time I will look at the price before I buy."


@pytest.mark.parametrize(("profile", "shown"), [("paper", [0, 1, 2]), ("upstream", [0, 0, 0])])
def test_the_next_trial_is_shown_the_reflection_except_under_upstream(profile, shown):
    """The original's actor never saw its reflections, and had fourteen actions."""

    def reply(messages):
        if asks_for(messages) == "reflect":
            return LESSON
        return "Action: click[Back to Search]" if len(messages) % 4 == 0 else f"Action: search[thing {len(messages)}]"

    model = ScriptedChatModel(replies=reply)
    graph = create_reflexion(model, WebShop(), max_trials=3, profile=profile).compile()
    final = graph.invoke({"task": WebShop().tasks(limit=1)[0]})
    # The original code reflects on the last trial, too.
    assert [reflection["text"] for reflection in final["reflections"]] == [LESSON] * (
        3 if profile == "upstream" else 2
    )
    trials = [without_examples(messages) for messages in model.prompts if asks_for(messages) == "act"]
    first = [messages[1].text for messages in trials if len(messages) == 2]
    assert [text.count(LESSON) for text in first] == shown
    assert (len(final["trajectory"]) == 14) == (profile == "upstream")
    assert {trial["stop_reason"] for trial in final["trials"]} == {"inefficient planning"}
