"""Generated repositories: names, numbers and a defect drawn from a seed, with tests that reveal the defect."""

import re
from random import Random
from string import Template
from typing import Any

from langgraph_reflexion.envs.workspace.repositories import Defect, Repository
from langgraph_reflexion.support.files import own_table

MODULES, FUNCTIONS = 2, 3
"""The number of modules in a repository, and of parts in a module."""
SHOWN = 2
"""The minimum number of tests that reveal the defect."""
_NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def generate(seed: int) -> Repository:
    """Return a Python repository in which one defect makes several tests fail."""
    rng, made = Random(seed), own_table(__file__, "parts.toml")
    names = {kind: words.split() for kind, words in made["names"].items()}
    package, *modules = rng.sample(names["things"], 1 + MODULES)
    functions = [f"{do}_{thing}" for do in names["do"] for thing in names["things"]]
    rng.shuffle(functions)
    parts = rng.sample(made["part"], MODULES * FUNCTIONS)
    written = [_Part(part, names, functions, rng) for part in parts]
    files = {
        "pyproject.toml": '[tool.pytest.ini_options]\npythonpath = ["."]\ntestpaths = ["tests"]\n',
        f"{package}/__init__.py": "",
    }
    mistakes = []
    for number, module in enumerate(modules):
        inside = written[number * FUNCTIONS : (number + 1) * FUNCTIONS]
        path, code = f"{package}/{module}.py", "\n\n".join(part.code for part in inside)
        files |= {path: code, f"tests/test_{module}.py": _tests(f"{package}.{module}", inside)}
        mistakes += [Defect(path, *each) for part in inside for each in part.defects if code.count(each[0]) == 1]
    return Repository(
        id=f"generated-{seed}",
        instruction=f"The tests of {package} fail. Find the mistake in the package and put it right.",
        verify=["env PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 pytest -q"],
        files=files,
        defect=rng.choice(mistakes),
    )


class _Part:
    def __init__(self, part: dict[str, Any], names: dict[str, list[str]], functions: list[str], rng: Random) -> None:
        drawn = {kind: rng.choice(words) for kind, words in names.items() if kind not in ("do", "things")}
        numbers = sorted(rng.sample(range(1, 40), len(_NUMBERS)))
        drawn |= {name: str(number) for name, number in zip(_NUMBERS, numbers, strict=True)}
        drawn |= {"f": functions.pop(), "g": functions.pop()}

        def fill(text: str) -> str:
            return Template(text).substitute(drawn)

        self.code = fill(part["code"])
        self.calls = [fill(call) for call in part["calls"]]
        self.names = re.findall(r"^def (\w+)", self.code, re.MULTILINE)
        self.answers = _answers(self.code, self.calls)
        self.defects = [
            (fill(right), fill(wrong)) for right, wrong in part["defects"] if self._shows(*map(fill, (right, wrong)))
        ]

    def _shows(self, right: str, wrong: str) -> bool:
        if self.code.count(right) != 1:
            return False
        answers = _answers(self.code.replace(right, wrong), self.calls)
        return sum(a != b for a, b in zip(answers, self.answers, strict=True)) >= SHOWN


def _answers(code: str, calls: list[str]) -> list[str]:
    """Return the results of the calls. Only code from `parts.toml` is executed."""
    scope: dict[str, Any] = {}
    exec(code, scope)
    answers = []
    for call in calls:
        try:
            answers.append(repr(eval(call, scope)))
        except Exception as error:
            answers.append(f"raises {type(error).__name__}")
    return answers


def _tests(module: str, parts: list[_Part]) -> str:
    names = sorted(name for part in parts for name in part.names)
    lines = [f"from {module} import {', '.join(names)}"]
    for part in parts:
        for number, (call, answer) in enumerate(zip(part.calls, part.answers, strict=True), 1):
            name = call.partition("(")[0]
            check = f"{call} is {answer}" if answer in ("True", "False", "None") else f"{call} == {answer}"
            lines += ["", "", f"def test_{name}_{number}():", f"    assert {check}"]
    return "\n".join(lines) + "\n"
