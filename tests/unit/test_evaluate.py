import pytest

from langgraph_reflexion import Budget, Budgets, Score, StepResult
from langgraph_reflexion.envs.pool import EpisodePool
from langgraph_reflexion.evaluators.base import Evaluator
from langgraph_reflexion.loop.profiles import Rules
from langgraph_reflexion.memory import Memory, make_memory
from langgraph_reflexion.models.calls import charge
from langgraph_reflexion.models.client import Client
from langgraph_reflexion.models.options import ModelOptions
from langgraph_reflexion.models.usage import NO_USAGE
from langgraph_reflexion.nodes.evaluate import Evaluate
from langgraph_reflexion.prompts import load_prompts
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.toys import Counter, CounterEpisode, add, count_to

CALLED = {**NO_USAGE, "llm_calls": 1}


class Finalized(CounterEpisode):
    """Its last word leaves the reward as it was."""

    def finalize(self):
        return StepResult("All is \udcff counted.")


class Finalizing(Counter):
    episode = Finalized

    def start(self, task):
        return Finalized(task["data"]["goal"], 10)


class Scored(Evaluator):
    def __init__(self, score):
        self.score = score

    async def evaluate(self, state, config):
        charge(CALLED)
        return Score(self.score, "Not \udcff yet.")


def node(score=0.0, environment=None, **budgets):
    environment, limits, prompts = environment or Counter(), Budgets(**budgets), load_prompts()
    rules = Rules("mine", max_trials=3)
    client = Client(ScriptedChatModel(replies=[]))
    memory = make_memory(Memory(), environment, client, prompts, rules, limits, ModelOptions(), False)
    return Evaluate(Scored(score), EpisodePool(environment), limits, rules, memory)


def state(trial=1, **changes):
    episode = {"task": "count 3", "began": 0.0, "observation": "", "reward": 0.25, "terminated": False}
    episode |= {"truncated": False, "snapshot": None} | changes.pop("episode", {})
    step = {"number": 1, "thought": "", "action": add(1), "observation": "1"}
    whole = {"task": count_to(3), "trial": trial, "trajectory": [step], "usage": {"act": CALLED}, "seconds": 1.0}
    whole |= {"stop_reason": "hallucination", "fault": "", "notes": [], "trials": [], "episode": episode}
    return whole | {"evaluation": None, "reflections": []} | changes


def record(trial, score, stop_reason):
    verdict = None if score is None else score >= 1
    made = {"trial": trial, "score": score, "verdict": verdict, "stop_reason": stop_reason}
    return made | {"actions": 1, "usage": {"act": CALLED}}


@pytest.mark.parametrize("ended", [None, "terminated", "truncated"])
async def test_only_a_trial_that_was_stopped_has_a_last_word_in_clean_text(ended):
    given = state(episode={ended: True} if ended else {})
    update = await node(environment=Finalizing())(given, {})
    words = [(step["number"], step["observation"]) for step in update.get("trajectory", [])]
    assert words == ([] if ended else [(2, "All is ? counted.")])
    assert update.get("episode", given["episode"])["reward"] == 0.25
    assert update["evaluation"]["feedback"] == "Not ? yet."


@pytest.mark.parametrize(
    ("trial", "score", "budgets", "status"),
    [
        (1, 0.0, {}, "running"),
        (3, 0.0, {}, "failed"),
        (3, 1.0, {"task": Budget(llm_calls=1)}, "solved"),
        (1, 1.0, {}, "solved"),
        (3, 0.0, {"task": Budget(llm_calls=1)}, "failed"),
        (1, 0.0, {"task": Budget(llm_calls=2)}, "budget"),  # the evaluation counts
        (1, 0.0, {"task": Budget(llm_calls=3)}, "running"),
        (1, 0.0, {"trial": Budget(llm_calls=1)}, "running"),
    ],
)
async def test_a_status_follows_from_the_verdict_the_trials_and_the_budgets(trial, score, budgets, status):
    update = await node(score, **budgets)(state(trial), {})
    assert update["status"] == status
    assert bool(update["notes"]) == (status == "budget")


@pytest.mark.parametrize(("reward", "success"), [(None, None), (0.5, False), (1.0, True), (1.5, True)])
async def test_the_truth_is_whether_the_reward_reaches_the_threshold(reward, success):
    given = state(episode={"reward": reward, "terminated": True})
    assert (await node()(given, {}))["trials"][0]["success"] is success


async def test_a_trial_cut_short_by_its_budget_has_no_verdict_and_one_note():
    cut = state(stop_reason="budget", notes=["trial budget of 1 action used up"])
    update = await node(trial=Budget(actions=1))(cut, {})
    assert (update["status"], update["trials"][0]["verdict"]) == ("budget", None)
    assert update["notes"] == cut["notes"]
    assert "evaluation" not in update


@pytest.mark.parametrize(
    ("earlier", "best"),
    [
        (record(1, 0.0, "terminated"), 1),  # it ended by itself
        (record(1, 0.0, "hallucination"), 2),
        (record(1, 0.0, "truncated"), 2),
        (record(1, -1.0, "terminated"), 2),
        (record(1, 0.5, "hallucination"), 1),
        (record(1, None, "budget"), 2),
    ],
)
async def test_the_best_trial_has_the_highest_score_and_ended_by_itself(earlier, best):
    assert (await node()(state(2, trials=[earlier]), {}))["best"] == best
