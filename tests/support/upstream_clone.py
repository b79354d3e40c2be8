"""Invented logs in the original's formats, with given curves."""

import json
import tomllib
from pathlib import Path

from tests.replication.logs import digest, originals

HEADER = "You have attempted to answer this before and failed. These reflections help."
FINISHED = {True: "Answer is CORRECT", False: "Answer is INCORRECT"}


def trial(number, summary, right=(), wrong=(), halted=None):
    """Return a trial of a HotPotQA log."""
    counts = dict(zip(("Correct", "Incorrect", "Halted"), summary, strict=False))
    lines = f"\n{'#' * 40}\nBEGIN TRIAL {number}\n"
    lines += f"Trial summary: {', '.join(f'{name}: {count}' for name, count in counts.items())}\n{'#' * 39}\n"
    lines += "------------- BEGIN CORRECT AGENTS -------------\n\n" + "".join(right)
    lines += "------------- BEGIN INCORRECT AGENTS -----------\n\n" + "".join(wrong)
    if halted is not None:
        lines += "------------- BEGIN HALTED AGENTS --------------\n\n" + "".join(halted)
    return lines + "\n"


def react(about, answer=None, lessons=(), steps=2, told="Aldmoor is a town on the Tavel.\nQuestion: not this one."):
    """Return a question with ReAct's steps."""
    question, key = about
    memory = HEADER + "\nReflections:" + "".join(f"\n- {lesson}" for lesson in lessons) if lessons else ""
    lines = [f"Question: {question}{memory}"]
    for number in range(1, steps + 1):
        last = answer is not None and number == steps
        action = f"Finish[{answer}]" if last else f"Search[page {number}]"
        seen = FINISHED[answer == key] if last else f"{told}\nThought 9: of a page."
        lines += [f"Thought {number}: I look.", f"Action {number}: {action}", f"Observation {number}: {seen}"]
    return "\n".join([*lines, f"Correct answer: {key}", "", ""])


def cot(about, answer, behind=None, before="Context: \n", thought="I think."):
    """Return a question with CoT's step."""
    question, key = about
    lines = [f"{before}Question: {question}", f"Thought: {thought}", f"Action: Finish[{answer}]"]
    lines += [f"Observation: {FINISHED[answer == key]}"]
    lines += [] if behind is None else [f"Reflections: {behind}"]
    return "\n".join([*lines, f"Correct answer: {key}", "", ""])


def solved_in(curve, tasks):
    """Return, for each task, the trial in which the curve solves it; None if it does not."""
    steps = [now - before for before, now in zip([0, *curve], curve, strict=False)]
    trials = [number for number, step in enumerate(steps, 1) for _ in range(step)]
    return [*trials, *[None] * (tasks - len(trials))]


def write_env_results(folder, curve, tasks, *, reflects=True):
    """Write a log of ALFWorld or WebShop: a JSON file for each trial of all tasks."""
    folder.mkdir(parents=True, exist_ok=True)
    ends = solved_in(curve, tasks)
    for number in range(1, len(curve) + 1):
        entries = []
        for task, end in enumerate(ends):
            solved = end is not None and end <= number
            failed = min(number, end - 1) if end else number
            memory = [f" Lesson {each} of {task}: Brise Bay, étape." for each in range(failed)] if reflects else []
            entries.append({"name": f"env_{task}", "memory": memory, "is_success": solved})
        path = folder / f"env_results_trial_{number - 1}.json"
        path.write_text(json.dumps(entries, indent=4, ensure_ascii=False), encoding="utf-8")
    return folder


def write_hotpotqa(path, curve, *, agent="react", reflects=False, first=1):
    """Write a text log of 100 questions; solved ones are listed again in every later trial."""
    ends = solved_in(curve, 100)
    text = ""
    for number in range(1, len(curve) + 1):
        right, wrong = [], []
        for each, end in enumerate(ends):
            about = (f"What is number {each} called? ", f"Name {each}")
            solved = end is not None and end <= number
            tries = min(number, end or number)
            answer = about[1] if solved else "Nobody"
            lessons = [f"Lesson {lesson} of {each}." for lesson in range(1, tries)] if reflects else []
            if agent == "react":
                row = react(about, answer, lessons)
            else:
                before = "Context: First.\n\nSecond. " if agent == "cot-gt" else "Context: \n"
                row = cot(about, answer, " ".join(lessons) if reflects else None, before)
            (right if solved else wrong).append(row)
        counts = (len(right), len(wrong), 0) if agent == "react" else (len(right), len(wrong))
        text += trial(number - 1 + first, counts, right, wrong, [] if agent == "react" else None)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def problem(name, solved, reflections=None, **fields):
    """Return a row of a programming log."""
    row = {"prompt": "def add(a, b):", "solution": "    return a + b", "is_solved": solved}
    if reflections is not None:
        row["reflections"] = [f"Lesson {each}." for each in range(reflections)]
    return {"task_id" if "/" in name else "name": name} | row | fields


def write_problems(path, rows):
    """Write a programming log."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def simple(name, solved, total, reflections=None):
    """Return rows without self-written tests; `{}` in the name is the problem's number."""
    return [problem(name.format(each), each < solved, reflections) for each in range(total)]


def with_tests(name, passed, failed, most):
    """Return rows with self-written tests: (right, all) of those that passed them, and of those that never did."""
    rows = [(each < passed[0], min(each % most, most - 1)) for each in range(passed[1])]
    rows += [(each < failed[0], most) for each in range(failed[1])]
    return [problem(name.format(each), *row) for each, row in enumerate(rows)]


HUMANEVAL, MBPP = "HumanEval/{}", "mbpp_{}_sum"
LOGS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


WRITERS = {
    "env_results": write_env_results,
    "hotpotqa": write_hotpotqa,
    "simple": lambda path, **log: write_problems(path, simple(**log)),
    "with_tests": lambda path, **log: write_problems(path, with_tests(**log)),
}


def write_clone(clone):
    """Write a clone with logs at the original's paths, and with their counts."""
    for kind, folders in LOGS.items():
        for folder, logs in folders.items():
            for name, log in logs.items():
                WRITERS[kind](clone / folder / name, **log)
    return clone


def known(clone):
    """Return what `originals.toml` lists, by the digests of an invented clone's logs at the same paths."""
    return {digest(clone / run["path"]): run for run in originals().values() if (clone / run["path"]).exists()}
