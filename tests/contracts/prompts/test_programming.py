import json
import re
from pathlib import Path

import pytest

from langgraph_reflexion.envs import base
from langgraph_reflexion.envs.grammar import parse_action
from langgraph_reflexion.envs.programming.environment import Programming
from langgraph_reflexion.prompts import ReflectionExample, load_prompts
from tests.support.tools import need

ROOT = Path(__file__).parents[3] / "prompts" / "programming"
FOLDERS = {"react": ROOT, "code": ROOT / "code"}
SHOWN = [
    pytest.param(agent, example, id=f"{agent}-{number}")
    for agent, folder in FOLDERS.items()
    for number, example in enumerate([*load_prompts(folder).examples(None, 9), *load_prompts(folder).reflections])
]


def problems_of(example, tmp_path):
    (name, *_), rust = re.findall(r"(?:def|fn) (\w+)", example.observation), "fn " in example.observation
    test = f"}}\nfn main() {{ assert_eq!({name}(Default::default()), 1); }}" if rust else "assert candidate()"
    problem = {"name": f"shown_{name}", "language": "rs" if rust else "py", "prompt": example.observation + "\n"}
    problem |= {"entry_point": name, "stop_tokens": [], "test": test}
    (tmp_path / "shown.jsonl").write_text(json.dumps(problem) + "\n")
    return Programming(path=str(tmp_path / "shown.jsonl"))


@pytest.mark.slow
@pytest.mark.parametrize(("agent", "example"), SHOWN)
def test_example_shows_the_actual_output(agent, example, tmp_path):
    need("sandbox", *(["Rust"] if "fn " in example.observation else []))
    problems = problems_of(example, tmp_path)
    environment = problems.for_actor("code") if agent == "code" else problems
    task = problems.tasks()[0]
    shown = [*(step.observation for step in example.steps), getattr(example, "feedback", "")]
    lines = [line for line in "\n".join(shown).splitlines() if line.startswith("assert")]
    task["prepared"] = {"tests": list(dict.fromkeys(line.partition("  -- ")[0] for line in lines))}
    episode = environment.start(task)
    assert episode.observation == example.observation
    actions = [parse_action(environment, step.action.strip()) for step in example.steps]
    assert [episode.step(each).observation for each in actions] == [step.observation for step in example.steps]
    if isinstance(example, ReflectionExample):
        program = problems.program(task, actions)
        assert example.feedback == base.render_tests(problems.run_tests(task, program, task["prepared"]["tests"])[0])
    problems.close()


@pytest.mark.slow
@pytest.mark.parametrize("language", ["python", "rust"])
def test_the_worked_tests_are_read_and_right(language, tmp_path):
    need("sandbox", *(["Rust"] if language == "rust" else []))
    worked = load_prompts(FOLDERS["code"]).tests_for(language)
    (solved,) = load_prompts(FOLDERS["code"]).examples(language, 1)
    assert worked.observation == solved.observation
    problems = problems_of(solved, tmp_path)
    task = problems.tasks()[0]
    tests = problems.read_tests(task, worked.reply)
    assert len(tests) == worked.reply.count("assert") == 6
    action = problems.for_actor("code").parse(solved.steps[0].action.strip())
    (outcomes,) = problems.run_tests(task, problems.program(task, [action]), tests)
    assert all(outcome.passed for outcome in outcomes)
    problems.close()
