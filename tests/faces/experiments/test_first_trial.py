"""Two strategies that start from one shared first trial (section 3.1 of the preprint)."""

import json
from itertools import count

import pytest

from langgraph_reflexion import ConfigurationError
from langgraph_reflexion.lab.experiments.runner import resume, run
from langgraph_reflexion.lab.run_settings import RunSettings
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.guessing import rows
from tests.support.model_server import ModelServer
from tests.support.toys import asks_for

pytestmark = pytest.mark.slow

SHARED_KEYS = ("steps", "observation", "verdict", "success", "score", "stop_reason", "actions", "evaluation")


class Unsteady:
    """A model that never says the same twice, as one above temperature 0; it counts what it is asked for."""

    def __init__(self):
        self.numbers, self.asked = count(1), []

    def __call__(self, messages):
        self.asked.append(asks_for(messages))
        number = next(self.numbers)
        if self.asked[-1] == "reflect":
            return f"Number {number} was wrong: I will look at the page."
        if self.asked[-1] == "judge":
            return f"It looks odd, {number}.\nVerdict: no"
        searches = len(messages) % 4 == 0
        return f"Thought: Perhaps {number}.\nAction: {'search' if searches else 'finish'}[{number}]"


@pytest.fixture
def play(tmp_path):
    model = Unsteady()
    with ModelServer(ScriptedChatModel(replies=model)) as server:

        def play(name, **given):
            model.asked.clear()
            common = {"environment": "hotpotqa", "model": "openai:any", "base_url": server.url, "limit": 3}
            settings = RunSettings(**{**common, "max_trials": 2, "concurrency": 1, **given})
            run(settings, tmp_path / name)
            return rows(tmp_path / name), list(model.asked)

        yield play


def first_rows(rows):
    return [row for row in rows if row["trial"] == 1]


def first(rows):
    """The first trials, without the reflections on them, which are the second strategy's own."""
    shared = [{key: row[key] for key in SHARED_KEYS} for row in first_rows(rows)]
    paid = [{node: used for node, used in row["usage"].items() if node != "reflect"} for row in first_rows(rows)]
    return shared, paid


@pytest.mark.parametrize("actor", ["react", "cot"])
@pytest.mark.parametrize("evaluator", ["environment", "llm"])
def test_another_strategy_continues_the_first_trials_of_a_run(play, tmp_path, actor, evaluator):
    how = {"actor": actor, "evaluator": evaluator}
    alone, _ = play("retry", strategy="retry", **how)
    shared, asked = play("reflexion", strategy="reflexion", first_trial_of=str(tmp_path / "retry"), **how)
    assert first(shared) == first(alone)
    second = [[row["steps"] for row in each if row["trial"] == 2] for each in (alone, shared)]
    assert second[0] != second[1]
    calls = sum(row["llm_calls"] for row in shared) - sum(row["llm_calls"] for row in first_rows(alone))
    assert len(asked) == calls, "nobody is asked again about a first trial"
    assert asked.count("reflect") == 3
    assert all(row["reflection"] for row in first_rows(shared))


def test_a_run_that_shares_its_first_trials_is_resumed(play, tmp_path):
    play("retry", strategy="retry")
    before, _ = play("reflexion", strategy="reflexion", first_trial_of=str(tmp_path / "retry"))
    resume(tmp_path / "reflexion", max_trials=3)
    after = rows(tmp_path / "reflexion")
    assert first(after) == first(before)
    assert max(row["trial"] for row in after) == 3


def test_other_settings_and_missing_trials_are_errors_before_anything_is_written(play, tmp_path):
    play("retry", strategy="retry", limit=2)
    other = str(tmp_path / "retry")
    with pytest.raises(ConfigurationError, match=r"actor is 'cot', and 'react' there"):
        play("cot", actor="cot", first_trial_of=other)
    with pytest.raises(
        ConfigurationError, match=r"lacks the finished first trial of 1 of 3 tasks, such as '.*': resume"
    ):
        play("more", first_trial_of=other)
    with pytest.raises(ConfigurationError, match="lessons change first trials"):
        play("taught", first_trial_of=other, lessons=str(tmp_path / "lessons.db"))
    with pytest.raises(ConfigurationError, match="holds no run"):
        play("none", first_trial_of=str(tmp_path / "no-such-run"))
    assert not [path.name for path in tmp_path.iterdir() if path.name not in ("retry", "lessons.db")]


def test_a_world_that_answers_otherwise_ends_the_task_with_an_error(play, tmp_path):
    play("retry", strategy="retry", limit=1)
    path = tmp_path / "retry/trials.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    lines[0]["observation"] = "Question: Another one?"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    play("reflexion", limit=1, first_trial_of=str(tmp_path / "retry"))
    (error,) = json.loads((tmp_path / "reflexion/run.json").read_text())["errors"].values()
    assert "the world answered otherwise at step 0" in error


@pytest.mark.needs("sandbox")
def test_the_tests_that_were_written_are_shared_too(play, tmp_path):
    programs = {"environment": "programming", "limit": 1}
    alone, _ = play("retry", strategy="retry", **programs)
    shared, asked = play("reflexion", first_trial_of=str(tmp_path / "retry"), **programs)
    assert first(shared) == first(alone)
    assert shared[0]["prepared"] == alone[0]["prepared"]
    assert len(asked) == sum(row["llm_calls"] for row in shared) - alone[0]["llm_calls"]
