"""Reflections that are wrong, and what facts are worth beside them: the games, the reflections, and the table.

    langgraph-reflexion experiment docs/experiments/wrong_reflections.toml --model openai:gpt-4o-mini
    python docs/experiments/wrong_reflections.py runs/wrong_reflections

A rule writes the reflections, and no language model: each says that what is wanted is where it was not.
"""

import itertools
import json
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from langchain_core.messages import BaseMessage

from langgraph_reflexion.envs.alfworld.engine import NOTHING
from langgraph_reflexion.envs.alfworld.environment import ALFWorld
from langgraph_reflexion.envs.base import Task
from langgraph_reflexion.lab.experiments.statistics import sign_test
from langgraph_reflexion.testing import ScriptedChatModel

GAMES = 30

ARRIVED = re.compile(r"You arrive at (?P<place>\w+ \d+)\.(?P<seen>.*)")
SEEN_FIRST = re.compile(r"you see an? (\w+ \d+)")
GOAL = re.compile(r"^\| Your task is to: (.*)$", re.MULTILINE)


class SpreadGames(ALFWorld):
    """30 games of a split, spread evenly over its kinds of tasks."""

    def tasks(self, split: str | None = None, limit: int | None = None) -> Sequence[Task]:
        found = super().tasks(split)
        count = min(limit or GAMES, len(found))
        return [found[number * len(found) // count] for number in range(count)]


def reflect(messages: list[BaseMessage]) -> str:
    """Say that the last place at which nothing wanted was seen is the right one."""
    shown = messages[-1].text
    place = wrong_place(shown)
    return (
        f"I was at the right place and left it too early: what I need is at {place}. Next time I will go to {place} "
        "first, and stay there until I have it."
    )


def wrong_place(shown: str) -> str:
    """Return the last place visited where nothing was seen that the goal names; else the first place of the room."""
    goal = GOAL.findall(shown)[-1]
    wanted = set(re.findall(r"[a-z]+", goal))
    for arrived in reversed(list(ARRIVED.finditer(shown))):
        kinds = set(re.findall(r"[a-z]+", arrived["seen"]))
        if not kinds & wanted:
            return str(arrived["place"])
    first: str = SEEN_FIRST.findall(shown)[0]
    return first


model = ScriptedChatModel(replies=reflect)


def main() -> None:
    """Print what the second trial of each run was like, and compare the runs in pairs of games."""
    runs: dict[str, dict[str, dict[str, Any]]] = {}
    for rows in sorted(Path(sys.argv[1]).rglob("trials.jsonl")):
        read = [json.loads(line) for line in rows.read_text(encoding="utf-8").splitlines()]
        runs[rows.parent.name] = {row["task_id"]: row for row in read if row["trial"] == 2}
    print(f"{'run':48} {'games':>5} {'solved':>6} {'actions':>7} {'possible':>8} {'places':>6}")
    for name, trials in runs.items():
        solved = sum(bool(row["success"]) for row in trials.values())
        actions = sum(len(row["steps"]) for row in trials.values())
        valid = sum(possible(row) for row in trials.values())
        places = sum(visited(row) for row in trials.values())
        print(f"{name:48} {len(trials):5} {solved:6} {actions:7} {valid:8} {places:6}")
    for first, second in itertools.combinations(runs, 2):
        print(f"\n{first} beside {second}:")
        print_pairs("possible actions", possible, runs[first], runs[second])
        print_pairs("places visited", visited, runs[first], runs[second])


def print_pairs(
    what: str, measure: Callable[[dict[str, Any]], int], first: dict[str, Any], second: dict[str, Any]
) -> None:
    """Print in how many of the games that two runs share the first one has more, and the second one."""
    differences = [measure(first[task]) - measure(second[task]) for task in first.keys() & second.keys()]
    test = sign_test(differences)
    print(f"{what}: more in {test.wins} of {test.tasks} games, fewer in {test.losses}, p = {test.p:.3f}")


def possible(row: dict[str, Any]) -> int:
    """Return how many actions of a trial were in a known form and possible."""
    known = [step for step in row["steps"] if step["action"] and step["action"]["name"]]
    return sum(not step["observation"].startswith((NOTHING, "Invalid action")) for step in known)


def visited(row: dict[str, Any]) -> int:
    """Return how many places a trial has visited."""
    arrivals = [ARRIVED.match(step["observation"]) for step in row["steps"]]
    return len({arrived["place"] for arrived in arrivals if arrived})


if __name__ == "__main__":
    main()
