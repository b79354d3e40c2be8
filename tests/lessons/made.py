"""Lessons, and where they are from, to test with."""

DATE = "2026-01-02T03:04:05.000000+00:00"


def source(task="t1", trial=1, **changes):
    """Where a lesson is from, but for the lesson itself."""
    return {
        "outcome": "failure",
        "task": task,
        "kind": "look",
        "instruction": f"Do what {task} says.",
        "observation": "A kitchen with a stove.",
        "trial": trial,
        "profile": "paper",
        "model": "scripted",
        "step": 2,
        "evidence": "open stove -> It is hot.",
        "run": "r1",
        "date": DATE,
        **changes,
    }


def use(task, lessons, success, *, trial=1, kind="look", run="r1"):
    """A trial that was told something."""
    told = {"task": task, "kind": kind, "trial": trial, "run": run, "date": DATE}
    return {"lessons": list(lessons), "success": success, **told}


def task(instruction, kind="look"):
    """A task."""
    return {"id": instruction, "instruction": instruction, "kind": kind}
