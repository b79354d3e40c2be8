"""Every language grades a right, a wrong and a broken program."""

from dataclasses import replace

import pytest

from langgraph_reflexion.envs.programming.compiled import CompiledGrader
from langgraph_reflexion.envs.programming.languages import LANGUAGES
from langgraph_reflexion.envs.programming.values import CANDIDATE
from langgraph_reflexion.envs.sandbox import Sandbox
from langgraph_reflexion.errors import EnvironmentUnavailable
from tests.support.programming.samples import BROKEN, SAMPLES
from tests.support.tools import need_programs


@pytest.mark.parametrize("name", LANGUAGES)
def test_sample(grader, name):
    language = LANGUAGES[name]
    need_programs(command[0] for command in (language.compile, language.run) if command and command[0][0] != ".")
    problem = SAMPLES[name]
    assert grader.failure(problem, problem.canonical) is None
    other = replace(problem, cases=(replace(problem.cases[0], expected="7", comparison="=="),))
    assert "expected 7" in grader.failure(other, problem.canonical)
    broken = grader.failure(problem, BROKEN[name])
    assert "rror" in broken or ".go:" in broken
    assert "\n" not in broken


@pytest.mark.needs("bubblewrap")
def test_missing_toolchain():
    nowhere = replace(LANGUAGES["rust"], compile=["no-such-compiler", "-o", "main"])
    with pytest.raises(EnvironmentUnavailable, match=r"rust: no-such-compiler: .*; install ") as raised:
        CompiledGrader(Sandbox("bubblewrap"), CANDIDATE).build(nowhere, "", [])
    assert "\n" not in str(raised.value)
