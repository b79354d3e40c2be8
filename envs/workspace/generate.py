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
    # The order of the draws decides what a seed gives.
    rng = Random(seed)
    table = own_table(__file__, "parts.toml")
    names = {kind: words.split() for kind, words in table["names"].items()}
    package, *modules = rng.sample(names["things"], 1 + MODULES)
    functions = _function_names(names)
    rng.shuffle(functions)
    drawn = rng.sample(table["part"], MODULES * FUNCTIONS)
    parts = [_Part(part, names, functions, rng) for part in drawn]
    files = {
        "pyproject.toml": '[tool.pytest.ini_options]\npythonpath = ["."]\ntestpaths = ["tests"]\n',
        f"{package}/__init__.py": "",
    }
    mistakes: list[Defect] = []
    for number, module in enumerate(modules):
        first = number * FUNCTIONS
        inside = parts[first : first + FUNCTIONS]
        path = f"{package}/{module}.py"
        code = "\n\n".join(part.code for part in inside)
        files[path] = code
        files[f"tests/test_{module}.py"] = _tests(f"{package}.{module}", inside)
        mistakes += _mistakes(path, code, inside)
    return Repository(
        id=f"generated-{seed}",
        instruction=f"The tests of {package} fail. Find the mistake in the package and put it right.",
        verify=["env PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 pytest -q"],
        files=files,
        defect=rng.choice(mistakes),
    )


def _function_names(names: dict[str, list[str]]) -> list[str]:
    functions = []
    for verb in names["do"]:
        for thing in names["things"]:
            functions.append(f"{verb}_{thing}")
    return functions


class _Part:
    """A part of a module: functions with names and numbers drawn, calls of them, and what these return.

    Args:
        part: The part's table.
        names: The words to draw from, by their kind.
        functions: The names of functions that are left; two are taken.
        rng: The source of the draws.
    """

    def __init__(self, part: dict[str, Any], names: dict[str, list[str]], functions: list[str], rng: Random) -> None:
        drawn = _draw(names, rng)
        drawn["f"] = functions.pop()
        drawn["g"] = functions.pop()

        def fill(text: str) -> str:
            return Template(text).substitute(drawn)

        self.code = fill(part["code"])
        self.calls = [fill(call) for call in part["calls"]]
        self.names = re.findall(r"^def (\w+)", self.code, re.MULTILINE)
        self.answers = _answers(self.code, self.calls)
        self.defects: list[tuple[str, str]] = []
        for given_right, given_wrong in part["defects"]:
            right = fill(given_right)
            wrong = fill(given_wrong)
            if self._shows(right, wrong):
                self.defects.append((right, wrong))

    def _shows(self, right: str, wrong: str) -> bool:
        """Return whether enough calls return something else with a defect."""
        if self.code.count(right) != 1:
            return False
        broken = self.code.replace(right, wrong)
        answers = _answers(broken, self.calls)
        differing = 0
        for answer, correct in zip(answers, self.answers, strict=True):
            if answer != correct:
                differing += 1
        return differing >= SHOWN


def _draw(names: dict[str, list[str]], rng: Random) -> dict[str, str]:
    """Return a word of each kind, and numbers, the smaller ones first."""
    drawn = {}
    for kind, words in names.items():
        # These make the names of functions.
        if kind not in ("do", "things"):
            drawn[kind] = rng.choice(words)
    numbers = rng.sample(range(1, 40), len(_NUMBERS))
    for name, number in zip(_NUMBERS, sorted(numbers), strict=True):
        drawn[name] = str(number)
    return drawn


def _answers(code: str, calls: list[str]) -> list[str]:
    """Return the results of the calls. Only code from `parts.toml` is executed."""
    scope: dict[str, Any] = {}
    exec(code, scope)
    answers = []
    for call in calls:
        # Calls may be meant to fail, and a defect may make any of them fail.
        try:
            answers.append(repr(eval(call, scope)))
        except Exception as error:
            answers.append(f"raises {type(error).__name__}")
    return answers


def _tests(module: str, parts: list[_Part]) -> str:
    """Return a file of tests: one for each call, and for what it returns."""
    names: list[str] = []
    for part in parts:
        names += part.names
    lines = [f"from {module} import {', '.join(sorted(names))}"]
    for part in parts:
        answered = zip(part.calls, part.answers, strict=True)
        for number, (call, answer) in enumerate(answered, 1):
            name = call.partition("(")[0]
            check = f"{call} == {answer}"
            # As linters want it.
            if answer in ("True", "False", "None"):
                check = f"{call} is {answer}"
            lines += ["", ""]
            lines.append(f"def test_{name}_{number}():")
            lines.append(f"    assert {check}")
    return "\n".join(lines) + "\n"


def _mistakes(path: str, code: str, parts: list[_Part]) -> list[Defect]:
    """Return the defects of a module's parts that have a single place in the whole module."""
    found = []
    for part in parts:
        for right, wrong in part.defects:
            if code.count(right) == 1:
                found.append(Defect(path, right, wrong))
    return found
