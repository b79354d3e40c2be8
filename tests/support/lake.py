"""A frozen lake of Gymnasium's, and a rule-based model that plays it and learns from its reflections."""

import re
from collections import deque

from langchain_core.messages import BaseMessage

LAKES = """
import gymnasium
from gymnasium.envs.toy_text.frozen_lake import generate_random_map
from langgraph_reflexion import GymEnvironment

def lake(task):
    desc = generate_random_map(size=4, seed=task["data"]["reset"]["seed"])
    return gymnasium.make("FrozenLake-v1", desc=desc, is_slippery=False, render_mode="ansi")

lakes = GymEnvironment(lake, range(3), actions=["left", "down", "right", "up"], name="lakes")
"""
MOVES = {"right": (0, 1), "down": (1, 0), "up": (-1, 0), "left": (0, -1)}
GRID = re.compile(r"(?:(?:[SFHG]|\[[SFHG] red\]){4}(?:\n|$)){4}")


def lake_model(messages: list[BaseMessage]) -> str:
    """Rules, not an LLM: walk the shortest way to the corner over all squares that no reflection calls a hole."""
    text = "\n".join(message.text for message in messages)
    row, column = _place(GRID.findall(text)[-1])
    if "You have just failed" in text:
        return f"There is a hole at ({row}, {column}). Next time I walk around it."
    holes = {(int(row), int(column)) for row, column in re.findall(r"hole at \((\d), (\d)\)", text)}
    return f"Thought: I am at ({row}, {column}).\nAction: {_first_move((row, column), holes)}"


def _place(grid: str) -> tuple[int, int]:
    for row, line in enumerate(grid.splitlines()):
        squares = re.findall(r"\[?[SFHG](?: red\])?", line)
        for column, square in enumerate(squares):
            if square.endswith("red]"):
                return row, column
    raise AssertionError(grid)


def _first_move(start: tuple[int, int], holes: set[tuple[int, int]]) -> str:
    ways = deque([(start, "")])
    seen = {start, *holes}
    while ways:
        (row, column), first = ways.popleft()
        if (row, column) == (3, 3):
            return first
        for move, (down, right) in MOVES.items():
            there = (row + down, column + right)
            if there not in seen and {*there} <= {*range(4)}:
                seen.add(there)
                ways.append((there, first or move))
    raise AssertionError(holes)
