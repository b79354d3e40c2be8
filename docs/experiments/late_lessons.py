"""Measure what lessons are worth that were learned after the fact, from what a person said of wrong answers.

    python docs/experiments/late_lessons.py learn        # answer the first half of the tasks, and learn from feedback
    python docs/experiments/late_lessons.py after none   # the second half, and `after own`, `after other`
    python docs/experiments/late_lessons.py table

`--base-url` and `--model` say which model answers and writes the lessons; without an address, it is OpenAI's, with
the key in OPENAI_API_KEY. Each task of the second half is answered once, at temperature 0: without lessons, with
those of its own family, and with those of another family. Every step writes a row for each task to `--out`, and skips
those that are there: a run that was stopped continues.
"""

import argparse
import asyncio
import json
import os
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain_openai import ChatOpenAI
from langgraph.store.base import BaseStore
from late_tasks import FAMILIES, PER_FAMILY, Task, tasks_of

from langgraph_reflexion import Lessons, alearn_from, create_reflexion
from langgraph_reflexion.lab.experiments.statistics import format_p, interval, sign_test
from langgraph_reflexion.memory.store import LessonStore, open_lessons

ARMS = ("none", "own", "other")
HALF = PER_FAMILY // 2
ANSWER_TOKENS = 150
SECONDS = 1800.0

Row = dict[str, Any]


def chat_model(given: argparse.Namespace, *, most_tokens: int | None = None) -> ChatOpenAI:
    """Return the model."""
    options: Row = {}
    if given.base_url:
        options = {"base_url": given.base_url, "api_key": os.environ.get("OPENAI_API_KEY", "none")}
    return ChatOpenAI(model=given.model, temperature=0, max_completion_tokens=most_tokens, timeout=SECONDS, **options)


def chat(given: argparse.Namespace, store: BaseStore, lessons: Lessons) -> Any:
    """Return an agent that answers once; whatever it answers is accepted at first."""
    agent = create_agent(chat_model(given, most_tokens=ANSWER_TOKENS), [])
    graph = create_reflexion(
        chat_model(given), actor=agent, evaluator=lambda result: True, max_trials=1, memory=lessons
    )
    return graph.compile(store=store)


def lessons_for(family: str, arm: str) -> Lessons:
    """Return the lessons that a task of a family is shown. Nothing that is played afterwards teaches any."""
    if arm == "none":
        return Lessons(environment=family, recall=False, learn="never")
    if arm == "own":
        return Lessons(environment=family, learn="never")
    following = FAMILIES[(FAMILIES.index(family) + 1) % len(FAMILIES)]
    return Lessons(environment=following, learn="never")


# Rows


def rows_in(path: Path) -> list[Row]:
    """Return the rows of a file that may not be there yet."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


async def write_rows(
    path: Path, tasks: Sequence[Task], at_once: int, row_of: Callable[[Task], Awaitable[Row]]
) -> None:
    """Append a row for each task that has none, some of them at the same time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    known = {row["task"] for row in rows_in(path)}
    room = asyncio.Semaphore(at_once)

    async def write(task: Task) -> None:
        async with room:
            row = await row_of(task)
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"task": task.name, **row}) + "\n")
        print(task.name, row, flush=True)

    await asyncio.gather(*(write(task) for task in tasks if task.name not in known))


# Steps


async def answered(given: argparse.Namespace, store: BaseStore, task: Task, arm: str) -> tuple[str, Row]:
    """Answer a task. Returns the answer, and the row."""
    family = task.name.split("-")[0]
    final = await chat(given, store, lessons_for(family, arm)).ainvoke({"task": task.text})
    answer = final["result"]
    shown = [lesson["text"] for lesson in final["lessons"]]
    usage = final["usage"]["act"]
    correction = task.correction(answer)
    row = {
        "right": not correction,
        "needs_rule": bool(task.rule),
        "answer": answer,
        "shown": shown,
        "calls": usage["llm_calls"],
        "tokens": usage["input_tokens"] + usage["output_tokens"],
    }
    return answer, row


async def learn(given: argparse.Namespace) -> None:
    """Answer the first half, and learn from what a person says of each wrong answer."""
    async with open_lessons(given.out / "lessons.db") as store:

        async def row_of(task: Task) -> Row:
            answer, row = await answered(given, store, task, "none")
            correction = task.correction(answer)
            row["lesson"] = ""
            if correction:
                family = task.name.split("-")[0]
                graph = chat(given, store, lessons_for(family, "own"))
                talk = [{"role": "user", "content": task.text}, {"role": "assistant", "content": answer}]
                learned = await alearn_from(graph, messages=talk, success=False, words=correction)
                row["lesson"] = learned["lesson"]
                row["lesson_calls"] = learned["usage"]["llm_calls"]
            row["words"] = correction
            return row

        for family in FAMILIES:
            first = tasks_of(family, given.seed)[:HALF]
            await write_rows(given.out / "learn.jsonl", first, given.at_once, row_of)
        for family in FAMILIES:
            lessons = (await LessonStore(store, family).snapshot()).live
            print(family, "lessons:", len([each for each in lessons if not each.retired]))


async def after(given: argparse.Namespace) -> None:
    """Answer the second half, with lessons of the arm."""
    async with open_lessons(given.out / "lessons.db") as store:

        async def row_of(task: Task) -> Row:
            _, row = await answered(given, store, task, given.arm)
            return row

        for family in FAMILIES:
            second = tasks_of(family, given.seed)[HALF:]
            await write_rows(given.out / f"after-{given.arm}.jsonl", second, given.at_once, row_of)


def table(given: argparse.Namespace) -> None:
    """Print what was solved at once, by family and arm, and the arms compared task by task."""
    by_arm = {arm: {row["task"]: row for row in rows_in(given.out / f"after-{arm}.jsonl")} for arm in ARMS}
    common = set.intersection(*(set(rows) for rows in by_arm.values()))
    first = rows_in(given.out / "learn.jsonl")
    print("| tasks | first half, without | second half, without | own lessons | another family's lessons |")
    print("|---|---|---|---|---|")
    for family in (*FAMILIES, "all"):
        cells = [_share([row for row in first if _is_of(row["task"], family)])]
        for arm in ARMS:
            cells.append(_share([by_arm[arm][name] for name in common if _is_of(name, family)]))
        print(f"| {family} | {' | '.join(cells)} |")
    for kind, needs_rule in (("that need a rule", True), ("that need none", False)):
        cells = [_share([row for row in first if row["needs_rule"] == needs_rule])]
        for arm in ARMS:
            rows = [by_arm[arm][name] for name in common]
            cells.append(_share([row for row in rows if row["needs_rule"] == needs_rule]))
        print(f"| {kind} | {' | '.join(cells)} |")
    print()
    for better, worse in (("own", "none"), ("own", "other"), ("other", "none")):
        differences = [int(by_arm[better][name]["right"]) - int(by_arm[worse][name]["right"]) for name in common]
        test = sign_test(differences)
        print(f"{better} alone {test.wins}, {worse} alone {test.losses}, p = {format_p(test.p)}")
    for arm in ARMS:
        rows = [by_arm[arm][name] for name in common]
        print(arm, "calls:", sum(row["calls"] for row in rows), "tokens:", sum(row["tokens"] for row in rows))


def _is_of(name: str, family: str) -> bool:
    return family == "all" or name.startswith(f"{family}-")


def _share(rows: Sequence[Row]) -> str:
    found = interval({row["task"]: [row["right"]] for row in rows})
    if found is None:
        return ""
    right = sum(row["right"] for row in rows)
    return f"{right} of {len(rows)} ({100 * found.low:.0f} to {100 * found.high:.0f}%)"


def main() -> None:
    """Do a step."""
    parser = argparse.ArgumentParser(description="Measure what lessons after the fact are worth.")
    parser.add_argument("step", choices=["learn", "after", "table"])
    parser.add_argument("arm", nargs="?", choices=ARMS, default="none")
    parser.add_argument("--out", type=Path, default=Path("runs/late_lessons"), help="the folder of the rows")
    parser.add_argument("--base-url", help="the address of the model's server, which ends in /v1")
    parser.add_argument("--model", default="gpt-4o-mini")
    parser.add_argument("--seed", type=int, default=1, help="of the tasks; 0 is for trying things out")
    parser.add_argument("--at-once", type=int, default=1, help="tasks that are in flight at the same time")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    if given.step == "table":
        table(given)
    elif given.step == "learn":
        asyncio.run(learn(given))
    else:
        asyncio.run(after(given))


if __name__ == "__main__":
    main()
