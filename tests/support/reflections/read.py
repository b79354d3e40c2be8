"""Reads what runs wrote about their failures."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from langgraph_reflexion.lab.experiments import read_prompts, read_run
from langgraph_reflexion.lab.experiments.prompts import SentPrompt
from langgraph_reflexion.lab.experiments.run_files import SENT
from langgraph_reflexion.lab.experiments.runs import Run
from langgraph_reflexion.support.copies import repeats

REFUSAL = re.compile(r"\b(i(?:'m| am) (?:sorry|unable)|i (?:can't|cannot|can not)|sorry, but)\b", re.IGNORECASE)

BEGINNING = 80
"""A refusal is one within this many characters."""


@dataclass(frozen=True)
class Failure:
    """A failed attempt with a next one, and what was written in between."""

    run: str
    task: str
    trial: int
    """The number of the failed attempt."""
    instruction: str
    answer: str
    check: str
    """The check's words."""
    note: str
    """Empty if the strategy writes none."""
    reflecting_prompt: str
    """The last message of the recorded prompt that asked for the note."""
    next_prompt: str
    """The recorded prompt of the next attempt."""
    next_answer: str
    repaired: bool
    """Whether the check accepted the next attempt."""


def read_failures(folder: Path) -> list[Failure]:
    """Return the failures of a run, in the order of its tasks."""
    run = read_run(folder)
    prompts = recorded_prompts(run)
    found = []
    for task in run.tasks:
        trials = run.whole_trials(task)
        for failed, following in pairwise(trials):
            if failed["success"]:
                continue
            reflecting = [
                each for each in prompts if (each.task, each.trial, each.kind) == (task, failed["trial"], "reflect")
            ]
            acting = [
                each for each in prompts if (each.task, each.trial, each.kind) == (task, following["trial"], "act")
            ]
            failure = Failure(
                run=folder.name,
                task=task,
                trial=failed["trial"],
                instruction=str(failed["observation"]),
                answer=last_words(failed),
                check=str((failed["evaluation"] or {}).get("feedback", "")),
                note=str(failed["reflection"] or ""),
                reflecting_prompt=last_text(reflecting),
                next_prompt=last_text(acting),
                next_answer=last_words(following),
                repaired=bool(following["success"]),
            )
            found.append(failure)
    return found


def recorded_prompts(run: Run) -> list[SentPrompt]:
    """Return the prompts of a run; none of one made by a version that did not record them."""
    if not (run.folder / SENT).is_file():
        return []
    return list(read_prompts(run))


def last_words(trial: dict) -> str:
    """Return the answer of a trial."""
    steps = trial["steps"]
    return str(steps[-1]["thought"]) if steps else ""


def last_text(prompts: Sequence) -> str:
    """Return all messages but the system's of the last prompt; empty if there is none."""
    if not prompts:
        return ""
    said = [message for message in prompts[-1].messages if message["role"] != "system"]
    return "\n\n".join(str(message["content"]) for message in said)


def refuses(note: str) -> bool:
    """Whether a note begins with a refusal."""
    return REFUSAL.search(note[:BEGINNING]) is not None


def repeated(failures: Sequence[Failure]) -> int:
    """Count the notes that repeat an earlier note on the same task."""
    found = 0
    for index, failure in enumerate(failures):
        before = [each.note for each in failures[:index] if each.task == failure.task and each.note]
        if failure.note and repeats(failure.note, before):
            found += 1
    return found


def counts(folder: Path) -> dict[str, int]:
    """Return the figures of a run: failures, what was written about them, and what it cost."""
    failures = read_failures(folder)
    trials = read_run(folder).trials
    first = [row for row in trials if row["trial"] == 1]
    return {
        "tasks": len(first),
        "solved at first": sum(bool(row["success"]) for row in first),
        "failures": len(failures),
        "notes": sum(bool(each.note) for each in failures),
        "refusals": sum(refuses(each.note) for each in failures),
        "repeated": repeated(failures),
        "same answer": sum(same_answer(each.answer, each.next_answer) for each in failures),
        "repaired": sum(each.repaired for each in failures),
        "calls": sum(row["llm_calls"] for row in trials),
        "tokens": sum(row["input_tokens"] + row["output_tokens"] for row in trials),
    }


def same_answer(first: str, second: str) -> bool:
    """Whether two answers are the same but for blanks."""
    return first.split() == second.split()


def side_by_side(folders: Sequence[Path]) -> Iterator[str]:
    """Yield the failures of the first run, each with the notes and the next attempts of all runs."""
    read = {folder.name: {(each.task, each.trial): each for each in read_failures(folder)} for folder in folders}
    for place, failure in next(iter(read.values())).items():
        yield f"=== {failure.task}, attempt {failure.trial}"
        yield f"task:    {failure.instruction}"
        yield f"attempt: {failure.answer}"
        yield f"check:   {failure.check}"
        for name, failures in read.items():
            other = failures.get(place)
            if other is None:
                yield f"--- {name}: no such failure"
                continue
            if not same_answer(other.answer, failure.answer):
                yield f"--- {name}: another attempt, {other.answer!r}"
            outcome = "repaired" if other.repaired else "not repaired"
            yield f"--- {name} ({outcome})"
            yield f"note:    {other.note or '(none)'}"
            yield f"next:    {other.next_answer}"
        yield ""
