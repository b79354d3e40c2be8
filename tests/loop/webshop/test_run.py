"""The graph on WebShop: rewards, reflections."""

import json

import pytest

from langgraph_reflexion.envs.webshop.environment import WebShop
from langgraph_reflexion.lab.demo.prompt import without_examples
from langgraph_reflexion.lab.experiments.runner import run
from langgraph_reflexion.lab.run_settings import RunSettings
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.model_server import ModelServer
from tests.support.scripts import SmallModel
from tests.support.scripts.webshop import LESSON as RECIPE
from tests.support.scripts.webshop import reply as hasty
from tests.support.toys import asks_for, play

pytestmark = [pytest.mark.extra("webshop"), pytest.mark.slow]


def test_a_run_reports_the_mean_reward(tmp_path):
    with ModelServer(SmallModel()) as server:
        given = {"environment": "webshop", "model": "openai:small", "base_url": server.url}
        settings = RunSettings(**given, strategy="retry", max_trials=1, limit=4)
        report = run(settings, tmp_path / "run").report
    rows = [json.loads(line) for line in (tmp_path / "run/trials.jsonl").read_text().splitlines()]
    assert {tuple(row["measures"]) for row in rows} == {("reward", "type", "attributes", "options", "price")}
    assert [row["success"] for row in rows] == [row["measures"]["reward"] == 1.0 for row in rows]
    assert report.measures["reward"][0] == pytest.approx(sum(row["measures"]["reward"] for row in rows) / 4, abs=1e-4)


@pytest.mark.parametrize("actor", ["react", "tools"])
def test_a_wrong_purchase_has_a_part_of_the_reward_and_the_reflection_on_it_leads_to_the_right_one(actor):
    shop = WebShop()
    final, _ = play(SmallModel(), shop, task=shop.tasks()[2], max_trials=3, actor=actor)
    assert (final["status"], [reflection["text"] for reflection in final["reflections"]]) == ("solved", [RECIPE])
    wrong, right = (trial["score"] for trial in final["trials"])
    assert 0 < wrong < 1
    assert right == 1.0


LESSONS = (
    "I bought the first thing that I saw. Next time I will look at the price before I buy.",
    "I searched for a thing that no shop has. The instruction names another one.",
    "I went back to the search after every page. Open a product instead.",
)


@pytest.mark.parametrize(("profile", "shown"), [("paper", [0, 1, 2]), ("upstream", [0, 0, 0])])
def test_the_next_trial_is_shown_the_reflection_except_under_upstream(profile, shown):
    """The original's actor never saw its reflections, had fourteen actions, and reflected on the last trial, too."""

    lessons = iter(LESSONS)

    def reply(messages):
        if asks_for(messages) == "reflect":
            return next(lessons)
        return "Action: click[Back to Search]" if len(messages) % 4 == 0 else f"Action: search[thing {len(messages)}]"

    final, model = play(reply, WebShop(), max_trials=3, profile=profile)
    assert [reflection["text"] for reflection in final["reflections"]] == [*LESSONS[: 2 + (profile == "upstream")]]
    trials = [without_examples(messages) for messages in model.prompts if asks_for(messages) == "act"]
    assert [
        sum(lesson in messages[1].text for lesson in LESSONS) for messages in trials if len(messages) == 2
    ] == shown
    assert (len(final["trajectory"]) == 14) == (profile == "upstream")
    assert {trial["stop_reason"] for trial in final["trials"]} == {"inefficient planning"}


@pytest.mark.parametrize(
    ("profile", "options", "strict"),
    [
        ("paper", {}, False),
        ("upstream", {}, True),
        ("upstream", {"strict": False}, False),
        ("paper", {"strict": True}, True),
    ],
)
def test_upstream_is_as_strict_as_the_original_unless_told_otherwise(profile, options, strict):
    def reply(messages):
        if asks_for(messages) == "reflect":
            return LESSONS[0]
        return "Action: search[soap]" if len(messages) % 4 else "Action: click[next >]"

    shop = WebShop(**options)
    final, _ = play(reply, shop, max_trials=1, profile=profile)
    seen = [step["observation"] for step in final["trajectory"] if step["action"]["text"] == "click[next >]"]
    assert ("Invalid action!" in seen[0]) is strict
    assert shop.strict == options.get("strict"), "the caller's own environment stays as it is"


@pytest.mark.parametrize(("profile", "buys"), [("paper", True), ("upstream", False)])
def test_a_run_measures_the_trial_as_strictly_as_it_was_played(profile, buys, tmp_path):
    """A button in small letters buys only where names need not match."""

    def reply(messages):
        return hasty(without_examples(messages)).replace("Buy Now", "buy now")

    with ModelServer(ScriptedChatModel(replies=reply)) as server:
        given = {"environment": "webshop", "model": "openai:small", "base_url": server.url, "profile": profile}
        run(RunSettings(**given, strategy="retry", max_trials=1, limit=3), tmp_path / "run")
    rows = [json.loads(line) for line in (tmp_path / "run/trials.jsonl").read_text().splitlines()]
    assert {row["score"] > 0 for row in rows} == {buys}
    assert [row["measures"]["reward"] for row in rows] == pytest.approx([row["score"] for row in rows])
