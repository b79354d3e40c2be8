"""Every language grades a right, a wrong and a broken program."""

from dataclasses import replace

import pytest

from langgraph_reflexion.envs.programming.compiled import CompiledGrader
from langgraph_reflexion.envs.programming.languages import LANGUAGES
from langgraph_reflexion.envs.programming.limits import CANDIDATE
from langgraph_reflexion.envs.sandbox import Sandbox
from langgraph_reflexion.errors import EnvironmentUnavailable
from tests.support.programming.samples import BROKEN, SAMPLES
from tests.support.tools import need_programs


@pytest.mark.parametrize("name", LANGUAGES)
def test_sample(grader, name):
    language = LANGUAGES[name]
    need_programs(command[0] for command in (language.compile, language.run) if command and command[0][0] != ".")
    problem = SAMPLES[name]
    right = grader.grade(problem, problem.canonical)
    assert right.passed, right.reason
    other = replace(problem, cases=(replace(problem.cases[0], expected="7", comparison="=="),))
    wrong = grader.grade(other, problem.canonical)
    assert not wrong.passed
    assert "expected 7" in wrong.reason
    broken = grader.grade(problem, BROKEN[name])
    assert not broken.passed
    assert "rror" in broken.reason or ".go:" in broken.reason
    assert "\n" not in broken.reason


@pytest.mark.needs("bubblewrap")
def test_missing_toolchain():
    nowhere = replace(LANGUAGES["rust"], compile=["no-such-compiler", "-o", "main"])
    with pytest.raises(EnvironmentUnavailable, match=r"rust: no-such-compiler: .*; install ") as raised:
        CompiledGrader(Sandbox("bubblewrap"), CANDIDATE).build(nowhere, "", [])
    assert "\n" not in str(raised.value)
