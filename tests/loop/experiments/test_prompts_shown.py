"""Prompts rendered from a run's record equal those that the model's server got."""

import html
import json

import pytest
from langchain_core.messages import convert_to_openai_messages

from langgraph_reflexion import ConfigurationError
from langgraph_reflexion.lab.experiments.page import Prompts
from langgraph_reflexion.lab.experiments.prompts_shown import RunPrompts, shown_prompt
from langgraph_reflexion.lab.experiments.record import read_run
from langgraph_reflexion.lab.experiments.runner import resume, run
from langgraph_reflexion.lab.experiments.trials import trials_of_run
from langgraph_reflexion.lab.settings import RunSettings
from tests.support.model_server import ModelRequest, ModelServer


def compared(messages):
    """Return messages in the form of OpenAI's requests, without the ids of calls."""
    calls = [[call["function"] for call in each.get("tool_calls") or []] for each in messages]
    return json.dumps(
        [[each["role"], each.get("content") or "", *said] for each, said in zip(messages, calls, strict=True)]
    )


def length(messages):
    return sum(len(each.get("content") or "") for each in messages)


def shown_and_sent(folder, chars=None, **settings):
    """Run, and return the prompts as rendered and those that the server answered, both sorted."""

    def fits(request: ModelRequest) -> str | None:
        return "context" if chars and request.characters > chars else None

    with pytest.MonkeyPatch.context() as patch, ModelServer(faults=fits) as server:
        patch.setenv("OPENAI_API_KEY", "any")
        run(RunSettings.read({"model": "openai:demo", "base_url": server.url, "concurrency": 1, **settings}), folder)
        bodies = [request.body["messages"] for request in server.requests]
    shown = []
    with RunPrompts(folder) as prompts:
        for row in (row for task in prompts.run.tasks for row in prompts.whole_trials(task)):
            task, trial = row["task_id"], row["trial"]
            places = [step["number"] for step in row["steps"]]
            places += ["judge"] if settings.get("evaluator") == "llm" else []
            places += [None] if any(each["trial"] == trial for each in row.get("reflections", [])) else []
            shown += [compared(convert_to_openai_messages(prompts.messages(task, trial, each))) for each in places]
    return sorted(shown), sorted(compared(each) for each in bodies if not chars or length(each) <= chars)


def slow(*values):
    return pytest.param(*values, marks=pytest.mark.long)


@pytest.mark.parametrize(
    ("environment", "actor", "settings"),
    [
        ("fever", "tools", {"evaluator": "llm", "strategy": "last_attempt_and_reflexion"}),
        slow("alfworld", "tools", {"max_actions": 6}),
        slow("alfworld", "react", {"memory_map": True, "strategy": "last_attempt_and_reflexion", "max_actions": 6}),
        slow("alfworld", "react", {"max_actions": 6, "chars": 6500}),
        slow("hotpotqa", "react", {"profile": "preprint", "evaluator": "llm", "limit": 4}),
        slow("hotpotqa", "cot", {}),
        slow("programming", "tools", {"evaluator": "none"}),
        slow("webshop", "react", {"max_actions": 6}),
    ],
)
def test_rendered_prompts_are_those_that_the_model_got(tmp_path, environment, actor, settings):
    settings = {"limit": 2, "max_trials": 2, **settings}
    shown, sent = shown_and_sent(tmp_path / "run", environment=environment, actor=actor, **settings)
    assert len(shown) > 3
    assert shown == sent


def test_prompts_of_your_own_agent(tmp_path):
    (tmp_path / "mine.py").write_text(
        "agent = lambda messages: '41'\nverdict = lambda task, result: (False, 'It is not 41.')\n"
    )
    (tmp_path / "tasks.jsonl").write_text('{"task": "Which number?"}\n')
    named = {"environment": f"{tmp_path}/mine.py:agent", "evaluator": f"{tmp_path}/mine.py:verdict"}
    given = {**named, "options": {"tasks": str(tmp_path / "tasks.jsonl")}, "max_trials": 2}
    run(RunSettings.read({**given, "reflection_model": "demo"}), tmp_path / "run")
    lessons, task = shown_prompt(tmp_path / "run", "1", 2, 1).messages
    reflection = read_run(tmp_path / "run").trials[0]["reflection"]
    assert (task.text, reflection and reflection in lessons.text) == ("Which number?", True)
    assert "It is not 41." in shown_prompt(tmp_path / "run", "1", 1).messages[-1].text


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "run"
    run(RunSettings.read({"environment": "fever", "limit": 1, "max_trials": 2}), folder)
    return folder


def test_prompt_of_a_trial_for_a_reader(recorded):
    shown = trials_of_run(recorded, "1")[1].prompt(1, 1)
    assert shown.parts[0][0] == "system"
    assert shown.parts[-1][1] in html.unescape(shown._repr_html_())


@pytest.mark.parametrize(("place", "word"), [((1, 99), "step 99"), ((9, 1), "trial 9"), ((1, "judge"), "evaluator")])
def test_prompt_that_was_not_made(recorded, place, word):
    with pytest.raises(ConfigurationError, match=word):
        shown_prompt(recorded, read_run(recorded).info["tasks"][0], *place)


def test_page_says_why_it_leaves_prompts_out(recorded, tmp_path):
    run = read_run(recorded)
    run.info["settings"] |= {"options": {"path": str(tmp_path / "moved.jsonl")}, "split": "path"}
    view = trials_of_run(recorded, "1").views[0]
    with Prompts(run) as shown:
        assert (shown.of(view), "moved.jsonl cannot be read" in shown.left_out) == ([], True)


def test_run_is_not_resumed_with_other_prompts(recorded):
    changed = recorded / "prompts" / "act.md"
    text = changed.read_text()
    changed.write_bytes(b"Do something else.\xff")
    with pytest.raises(ConfigurationError, match=r"other prompts: act\.md"):
        resume(recorded)
    changed.write_text(text)
