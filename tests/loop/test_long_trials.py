"""However long a trial is, the prompts on it are bounded, and a late step writes no more than an early one."""

from collections import defaultdict

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_reflexion import create_reflexion
from langgraph_reflexion.envs.base import Action
from langgraph_reflexion.loop.prompting import LONGEST_TRIAL, bounded_trial
from langgraph_reflexion.memory.episodic import LONGEST_FEEDBACK, status_line
from langgraph_reflexion.prompts import load_prompts
from langgraph_reflexion.state import Evaluation
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.toys import THREAD, Counter

SIZES = {
    "many steps": (10_000, 40, 30, 30),
    "long observations": (60, 50_000, 30, 30),
    "long thoughts": (60, 100, 9_000, 30),
    "many long steps": (10_000, 5_000, 500, 500),
}


def steps_of(number, observation, thought, action):
    return [
        {
            "number": n,
            "thought": "t" * thought,
            "action": Action(name="go", args={}, text=f"{n} " + "a" * action),
            "observation": "o" * observation,
        }
        for n in range(1, number + 1)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("name", SIZES)
def test_a_long_trial_is_shown_in_bounded_form(name):
    steps = steps_of(*SIZES[name])
    shown = bounded_trial(steps)
    text = load_prompts().render("trial", observation="You are here.", steps=shown)
    assert len(text) < 2 * LONGEST_TRIAL
    assert shown[0]["number"] == 1
    assert shown[-1]["number"] == len(steps)
    said = sum(
        len(steps) - len(shown) == int(words.split()[0]) for words in text.split("[")[1:] if "left out here" in words
    )
    assert said == (len(shown) < len(steps))


def test_a_trial_that_fits_is_shown_whole():
    steps = steps_of(50, 400, 100, 20)
    assert bounded_trial(steps) == steps
    assert bounded_trial([]) == []


@pytest.mark.slow
def test_steps_keep_their_numbers():
    steps = steps_of(20_000, 10, 10, 10)
    shown = bounded_trial(steps)
    text = load_prompts().render("failed_trial", **FAILED, steps=shown)
    assert "\nAction 1: 1 aaa" in text
    assert "\nAction 20000: 20000 aaa" in text


FAILED = {
    "observation": "You are here.",
    "status": "Status: FAILED",
    "facts": [],
    "memory_map": "",
    "reflections": [],
    "again": "",
    "goal": "",
    "calls": [],
    "check": "",
    "has_reason": False,
    "answer": "",
}


def test_the_words_of_an_evaluation_are_bounded():
    evaluation = Evaluation(success=False, score=0.0, feedback=f"begin {'x' * 5_000_000} end")
    line = status_line(evaluation, "words")
    assert len(line) < 2 * LONGEST_FEEDBACK
    assert "begin" in line
    assert line.endswith("end")


WRITES = {"act": "decision", "observe": "trajectory", "heuristic_check": "stop_reason"}
"""What each node of a step writes, and no other of them does."""


class CountingSaver(InMemorySaver):
    """Counts the checkpoints, and the bytes that each node of a step writes at each of its visits."""

    def __init__(self):
        super().__init__()
        self.checkpoints = 0
        self.written = defaultdict(list)

    async def aput(self, *checkpoint):
        self.checkpoints += 1
        return await super().aput(*checkpoint)

    async def aput_writes(self, config, writes, *task):
        channels = {channel for channel, _ in writes}
        for node, channel in WRITES.items():
            # `reset` begins the trial, and writes them all.
            if channel in channels and "trial" not in channels:
                size = sum(len(self.serde.dumps_typed(value)[1]) for _, value in writes)
                self.written[node].append(size)
        await super().aput_writes(config, writes, *task)


@pytest.mark.slow
async def test_a_late_step_writes_as_much_as_an_early_one():
    [*_, task] = Counter().tasks("hard")
    model = ScriptedChatModel(replies=[f"Action: add {number}" for number in range(10, 40)])
    builder = create_reflexion(model, Counter(limit=30), strategy="retry", max_trials=1, heuristic=lambda steps: None)
    saver = CountingSaver()
    await builder.compile(checkpointer=saver).ainvoke({"task": task}, THREAD)
    # The input, its first superstep, `reset`, the three nodes of each step, and `evaluate`.
    assert saver.checkpoints == 3 + 3 * 30 + 1
    for node in WRITES:
        sizes = saver.written[node]
        assert len(sizes) == 30
        # From the tenth step on, the numbers of steps and of the counter have as many digits.
        assert len(set(sizes[10:29])) == 1
