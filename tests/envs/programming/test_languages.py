"""Every language that is described runs a problem: right, wrong, raising, ending the process, and not compiling."""

import re
from dataclasses import replace

import pytest
from samples import BROKEN, SAMPLES

from langgraph_reflexion.envs.programming.compiled_runs import CompiledRuns
from langgraph_reflexion.envs.programming.languages import LANGUAGES, language_of
from langgraph_reflexion.envs.programming.limits import CANDIDATE
from langgraph_reflexion.envs.sandbox import Sandbox
from langgraph_reflexion.errors import ConfigurationError, EnvironmentUnavailable
from tests.tools import need_programs


@pytest.mark.parametrize("name", LANGUAGES)
def test_a_sample_is_judged(judge, name):
    language = LANGUAGES[name]
    need_programs(command[0] for command in (language.compile, language.run) if command and command[0][0] != ".")
    problem = SAMPLES[name]
    right = judge.grade(problem, problem.canonical)
    assert right.passed, right.reason
    other = replace(problem, cases=(replace(problem.cases[0], expected="7", comparison="=="),))
    wrong = judge.grade(other, problem.canonical)
    assert not wrong.passed
    assert "expected 7" in wrong.reason
    broken = judge.grade(problem, BROKEN[name])
    assert not broken.passed
    assert "rror" in broken.reason or ".go:" in broken.reason
    assert "\n" not in broken.reason


@pytest.mark.needs("bubblewrap")
@pytest.mark.parametrize("name", [name for name in LANGUAGES if name != "python"])
def test_a_missing_toolchain_is_one_line(name):
    nowhere = replace(LANGUAGES[name], compile=["no-such-compiler", "-o", "main"])
    with pytest.raises(
        EnvironmentUnavailable, match=rf"^{re.escape(name)}: no-such-compiler: .*; install "
    ) as raised:
        CompiledRuns(Sandbox("bubblewrap"), CANDIDATE).build(nowhere, "", [])
    assert "\n" not in str(raised.value)


def test_languages_have_other_names():
    assert [language_of(name) for name in ("py", "RS", "js", "cpp", "c++")] == [
        *("python", "rust", "javascript", "c++", "c++"),
    ]
    with pytest.raises(ConfigurationError, match="choose one of python, rust"):
        language_of("cobol")
