"""Invented logs in the original's formats, with given curves."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from langgraph_reflexion.replication.logs import Original, digest, originals

HEADER = "You have attempted to answer this before and failed. These reflections help."
FINISHED = {True: "Answer is CORRECT", False: "Answer is INCORRECT"}


def trial(
    number: int,
    summary: Sequence[int],
    right: Sequence[str] = (),
    wrong: Sequence[str] = (),
    halted: Sequence[str] | None = None,
) -> str:
    """Return a trial of a HotPotQA log."""
    counts = dict(zip(("Correct", "Incorrect", "Halted"), summary, strict=False))
    lines = f"\n{'#' * 40}\nBEGIN TRIAL {number}\n"
    lines += f"Trial summary: {', '.join(f'{name}: {count}' for name, count in counts.items())}\n{'#' * 39}\n"
    lines += "------------- BEGIN CORRECT AGENTS -------------\n\n" + "".join(right)
    lines += "------------- BEGIN INCORRECT AGENTS -----------\n\n" + "".join(wrong)
    if halted is not None:
        lines += "------------- BEGIN HALTED AGENTS --------------\n\n" + "".join(halted)
    return lines + "\n"


def react(
    about: tuple[str, str],
    answer: str | None = None,
    lessons: Sequence[str] = (),
    steps: int = 2,
    told: str = "Aldmoor is a town on the Tavel.\nQuestion: not this one.",
) -> str:
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


def cot(
    about: tuple[str, str],
    answer: str,
    behind: str | None = None,
    before: str = "Context: \n",
    thought: str = "I think.",
) -> str:
    """Return a question with CoT's step."""
    question, key = about
    lines = [f"{before}Question: {question}", f"Thought: {thought}", f"Action: Finish[{answer}]"]
    lines += [f"Observation: {FINISHED[answer == key]}"]
    lines += [] if behind is None else [f"Reflections: {behind}"]
    return "\n".join([*lines, f"Correct answer: {key}", "", ""])


def solved_in(curve: Sequence[int], tasks: int) -> list[int | None]:
    """Return, for each task, the trial in which the curve solves it; None if it does not."""
    steps = [now - before for before, now in zip([0, *curve], curve, strict=False)]
    trials = [number for number, step in enumerate(steps, 1) for _ in range(step)]
    return [*trials, *[None] * (tasks - len(trials))]


def write_env_results(folder: Path, curve: Sequence[int], tasks: int, *, reflects: bool = True) -> Path:
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


def write_hotpotqa(
    path: Path, curve: Sequence[int], *, agent: str = "react", reflects: bool = False, first: int = 1
) -> Path:
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


def problem(name: str, solved: bool, reflections: int | None = None, **fields: Any) -> dict[str, Any]:
    """Return a row of a programming log."""
    row: dict[str, Any] = {"prompt": "def add(a, b):", "solution": "    return a + b", "is_solved": solved}
    if reflections is not None:
        row["reflections"] = [f"Lesson {each}." for each in range(reflections)]
    return {"task_id" if "/" in name else "name": name} | row | fields


def write_problems(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    """Write a programming log."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def simple(name: str, solved: int, total: int) -> list[dict[str, Any]]:
    """Return rows without self-written tests; `{}` in the name is the problem's number."""
    return [problem(name.format(each), each < solved) for each in range(total)]


def with_tests(name: str, passed: tuple[int, int], failed: tuple[int, int], most: int) -> list[dict[str, Any]]:
    """Return rows with self-written tests: (right, all) of those that passed them, and of those that never did."""
    rows = [(each < passed[0], min(each % most, most - 1)) for each in range(passed[1])]
    rows += [(each < failed[0], most) for each in range(failed[1])]
    return [problem(name.format(each), *row) for each, row in enumerate(rows)]


HUMANEVAL, MBPP, LEET = "HumanEval/{}", "mbpp_{}_sum", "sum-of-{}"
HARD = "HumanEval_{}_sum"


def write_clone(clone: Path) -> Path:
    """Write a clone with logs at the original's paths, and with their counts."""
    alfworld, webshop = clone / "alfworld_runs" / "root", clone / "webshop_runs"
    write_env_results(alfworld / "base_run_logs", [84, 94, 97, 98, 100, 101, 101], 134, reflects=False)
    curve = [84, 103, 111, 113, 117, 118, 123, 126, 128, 129, 130, 130, 131, 133, 134]
    write_env_results(alfworld / "reflexion_run_logs", curve, 134)
    write_env_results(webshop / "base_run_logs_1", [31], 100)
    write_env_results(webshop / "base_run_logs_2", [33, 34, 34, 34], 100)
    write_env_results(webshop / "reflexion_run_logs_1", [33, 33, 34, 35], 100)
    write_env_results(webshop / "reflexion_run_logs_2", [33, 35, 35, 35], 100)
    hotpotqa = clone / "hotpotqa_runs" / "root"
    react_base, react_log = hotpotqa / "ReAct/base", hotpotqa / "ReAct/reflexion"
    write_hotpotqa(react_base / "100_questions_5_trials.txt", [34] * 5)
    curve = [32, 42, 48, 50, 51, 53, 53]
    write_hotpotqa(react_log / "100_questions_5_trials.txt", curve[:5], reflects=True)
    write_hotpotqa(react_log / "100_questions_7_trials.txt", curve, reflects=True)
    write_hotpotqa(react_log / "100_questions_trials_6_to_7.txt", curve[5:], reflects=True, first=6)
    gt, cot_only = hotpotqa / "CoT/context", hotpotqa / "CoT/no_context"
    five, six, eight = (f"100_questions_{trials}_trials.txt" for trials in (5, 6, 8))
    write_hotpotqa(gt / "reflexion" / eight, [61, 69, 69, 70, 72, 74, 75, 75], agent="cot-gt", reflects=True)
    write_hotpotqa(gt / "last_trial" / eight, [62, 66, 66, 66, 66], agent="cot-gt")
    write_hotpotqa(gt / "last_trial_and_reflexion" / five, [63, 70, 72, 74, 74], agent="cot-gt")
    write_hotpotqa(cot_only / "base" / five, [32, 33, 33, 33, 33], agent="cot")
    write_hotpotqa(cot_only / "last_trial" / six, [32, 34, 35, 36, 37, 38], agent="cot")
    write_hotpotqa(cot_only / "last_trial_and_reflexion" / five, [31, 33, 34, 35, 35, 35], agent="cot")
    write_hotpotqa(cot_only / "reflexion" / five, [32, 37, 40, 40, 40], agent="cot", reflects=True)
    for path, rows in problems().items():
        write_problems(clone / "programming_runs" / "root" / path, rows)
    return clone


def known(clone: Path) -> dict[str, Original]:
    """Return what `originals.toml` lists, by the digests of an invented clone's logs at the same paths."""
    return {digest(clone / run["path"]): run for run in originals().values() if (clone / run["path"]).exists()}


def problems() -> dict[str, list[dict[str, Any]]]:
    """Return the rows of a clone's programming logs, by path."""
    hard, leet = "humaneval-rs-hardest50.", "leetcode-hard-py-40-uncontaminated_tests."
    five, one = "5_gpt-4_pass_at_k_1", "1_gpt-4_pass_at_k_1"
    visible = "reflexion_leetcode_python3_gpt4_react_constraints_visible"
    return {
        "reflexion_humaneval_py_pass_at_1/reflexion_humaneval_py_pass_at_1.jsonl": with_tests(
            HUMANEVAL, (142, 144), (8, 20), 9
        ),
        f"simple_test_run/simple_{one}.jsonl": simple(HUMANEVAL, 134, 164),
        "simple_test_run/simple_1_gpt-3.5-turbo_pass_at_k_1.jsonl": simple(HUMANEVAL, 42, 164),
        "simple_test_run/simple_1_text-davinci-003_pass_at_k_1.jsonl": simple(HUMANEVAL, 96, 164),
        f"reflexion_mbpp_py/mbpp-py._reflexion_{five}_py.jsonl": with_tests(MBPP, (242, 289), (64, 108), 4),
        f"simple_mbpp_py/mbpp-py._simple_{one}_py.jsonl": simple(MBPP, 318, 397),
        f"reflexion_mbpp_rs/mbpp-rs._reflexion_{five}_rs.jsonl": with_tests(MBPP, (221, 262), (47, 92), 4),
        f"simple_mbpp_rs/mbpp-rs._simple_{one}_rs.jsonl": simple(MBPP, 252, 354),
        f"reflexion_humaneval_rs_hard50/humaneval-rs._reflexion_{five}_rs.jsonl": with_tests(
            HARD, (27, 31), (7, 19), 4
        ),
        f"simple_humaneval_rs_hard50/humaneval-rs._simple_{one}_rs.jsonl": simple(HARD, 30, 50),
        f"immediate_reflexion_humaneval_rs_hardest50/{hard}_immediate-reflexion_{five}_rs.jsonl": [
            problem(HARD.format(each), each < 26, 4) for each in range(50)
        ],
        f"immediate_refinement_humaneval_rs_hardest50/{hard}_immediate-refinement_{five}_rs.jsonl": [
            problem(HARD.format(each), each < 30, 0) for each in range(50)
        ],
        f"{visible}/{leet}_reflexion_{five}_py.jsonl": with_tests(LEET, (5, 16), (1, 24), 4),
        f"simple_leetcode_python3_gpt4_visible/{leet}_simple_{one}_py.jsonl": simple(LEET, 4, 40),
    }
