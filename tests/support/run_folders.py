"""Run folders with invented rows, for tests of reports."""

import json

from langgraph_reflexion.lab.experiments.rows import key_of

SETTINGS = {
    "environment": "alfworld",
    "options": {"engine": "textworld"},
    "split": "generated-134",
    "strategy": "reflexion",
    "model": "demo",
    "reflection_model": None,
    "actor": "react",
    "profile": "paper",
    "evaluator": "environment",
    "seed": 0,
    "max_trials": 3,
}


def row(task, trial, success, verdict=None, **changes):
    """Return a row; its verdict is the truth by default."""
    verdict = success if verdict is None else verdict
    score, stop_reason = None if verdict is None else float(verdict), "terminated" if verdict else "hallucination"
    made = {"task_id": task, "trial": trial, "success": success, "verdict": verdict, "score": score}
    made |= {"stop_reason": stop_reason, "actions": 1, "llm_calls": 2, "input_tokens": 1000, "output_tokens": 10}
    made |= {"cached_calls": 0, "cost": 0.0, "notes": [], "reflection": None, "fault": "", "seconds": 0.1}
    return made | changes


def steps(task, trial, *done, observation="A room."):
    """Return the part of a row with steps of thought, action and observation."""
    taken = [
        {"number": n, "thought": thought, "action": {"name": "do", "args": {}, "text": text}, "observation": seen}
        for n, (thought, text, seen) in enumerate(done, 1)
    ]
    return {"task_id": task, "trial": trial, "observation": observation, "steps": taken, "evaluation": None}


def folder(path, rows, tasks, *, trajectories=(), versions=None, goals=None, created=None, **settings):
    """Write a run folder."""
    path.mkdir(parents=True)
    info = {"settings": SETTINGS | settings, "tasks": tasks, "goals": goals or {}}
    info |= {"versions": versions} if versions else {}
    info |= {"created": created} if created else {}
    (path / "run.json").write_text(json.dumps(info))
    done = {key_of(each): each for each in trajectories}
    whole = [{**row, **done.get(key_of(row), {})} for row in rows]
    (path / "trials.jsonl").write_text("".join(json.dumps(row) + "\n" for row in whole))
    return path
