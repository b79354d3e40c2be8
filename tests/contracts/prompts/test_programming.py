"""The few-shot programs: what is shown of them is what comes out when they are run."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from langgraph_reflexion.envs import base
from langgraph_reflexion.envs.base import Task
from langgraph_reflexion.envs.programming.environment import Programming
from langgraph_reflexion.prompts import Example, ReflectionExample, load_prompts
from tests.support.tools import need

ROOT = Path(__file__).parents[3] / "prompts" / "programming"
FOLDERS = {"react": ROOT, "code": ROOT / "code"}
SHOWN = [
    pytest.param(agent, example, id=f"{agent}-{kind}-{number}")
    for agent, folder in FOLDERS.items()
    for kind, examples in (
        ("example", load_prompts(folder).examples(None, 9)),
        ("reflection", load_prompts(folder).reflections),
    )
    for number, example in enumerate(examples)
]


def problems_of(example: Example | ReflectionExample, tmp_path: Path) -> Programming:
    """The problem that an example shows, as a file."""
    name = re.search(r"(?:def|fn) (\w+)", example.observation)
    assert name
    rust = "fn " in example.observation
    problem: dict[str, Any] = {
        "name": f"shown_{name[1]}",
        "language": "rs" if rust else "py",
        "prompt": example.observation + "\n",
        "entry_point": name[1],
        "stop_tokens": [],
        "test": f"}}\nfn main() {{ assert_eq!({name[1]}(Default::default()), 1); }}"
        if rust
        else "assert candidate()",
    }
    path = tmp_path / "shown.jsonl"
    path.write_text(json.dumps(problem) + "\n")
    return Programming(path=str(path))


def shown_tests(text: str) -> list[str]:
    """The tests that a text speaks of, in the order in which they were written."""
    return [line.partition("  -- ")[0] for line in text.splitlines() if line.startswith("assert")]


@pytest.mark.parametrize(("agent", "example"), SHOWN)
def test_example_shows_the_actual_output(agent: str, example: Any, tmp_path: Path) -> None:
    need("sandbox", *(["Rust"] if "fn " in example.observation else []))
    problems = problems_of(example, tmp_path)
    environment = problems.variant("code") if agent == "code" else problems
    task: Task = problems.tasks()[0]
    tests = shown_tests("\n".join([*(step.observation for step in example.steps), getattr(example, "feedback", "")]))
    task["prepared"] = {"tests": list(dict.fromkeys(tests))}
    episode = environment.start(task)
    assert episode.observation == example.observation
    actions = []
    for step in example.steps:
        action = environment.parse(step.action.strip())
        assert action is not None
        actions.append(action)
        assert episode.step(action).observation == step.observation
    if isinstance(example, ReflectionExample):
        program = problems.program(task, actions)
        assert program is not None
        assert example.feedback == base.render_tests(problems.run_tests(task, program, task["prepared"]["tests"])[0])
    problems.close()
