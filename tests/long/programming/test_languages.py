import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from langgraph_reflexion.envs.programming.compiled import CompiledGrader
from langgraph_reflexion.envs.programming.languages import LANGUAGES
from langgraph_reflexion.envs.programming.problems import Case, Problem
from langgraph_reflexion.envs.programming.values import CANDIDATE
from langgraph_reflexion.envs.sandbox import Sandbox
from langgraph_reflexion.errors import EnvironmentUnavailable
from tests.support.tools import need_programs

SAMPLES = tomllib.loads(Path(__file__).with_name("samples.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", LANGUAGES)
def test_sample(grader, name):
    language, sample = LANGUAGES[name], dict(SAMPLES[name])
    need_programs(command[0] for command in (language.compile, language.run) if command and command[0][0] != ".")
    broken, cases = sample.pop("broken"), tuple(Case(*case) for case in sample.pop("cases"))
    problem = Problem(id=f"sample/{name}", language=name, cases=cases, **sample)
    assert grader.failure(problem, problem.canonical) is None
    other = replace(problem, cases=(replace(cases[0], expected="7", comparison="=="),))
    assert "expected 7" in grader.failure(other, problem.canonical)
    said = grader.failure(problem, broken)
    assert "rror" in said or ".go:" in said
    assert "\n" not in said


@pytest.mark.needs("bubblewrap")
def test_missing_toolchain():
    nowhere = replace(LANGUAGES["rust"], compile=["no-such-compiler", "-o", "main"])
    with pytest.raises(EnvironmentUnavailable, match=r"rust: no-such-compiler: .*; install ") as raised:
        CompiledGrader(Sandbox("bubblewrap"), CANDIDATE).build(nowhere, "", [])
    assert "\n" not in str(raised.value)
