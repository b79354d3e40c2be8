import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from langgraph_reflexion.envs.programming.environment import Programming
from langgraph_reflexion.envs.programming.formats import load_problems
from tests.support.programming.spread import examples_of, needs_rust

HUMANEVAL = Path(os.environ.get("PROGRAMMING_SAMPLE", "nowhere"), "HumanEval.jsonl.gz")


def failures(grader, problems):
    with ThreadPoolExecutor(2) as threads:
        return list(filter(None, threads.map(lambda each: grader.failure(each, each.canonical), problems)))


@pytest.mark.parametrize(("language", "every"), [("python", 1), pytest.param("rust", 3, marks=needs_rust)])
def test_own_problems(grader, language, every):
    problems = list(Programming(language=language).problems.values())
    assert len(problems) == 32
    both = [replace(each, cases=(*each.cases, *examples_of(each))) for each in problems[::every]]
    assert min(len(each.cases) for each in both) >= 10
    assert failures(grader, both) == []


@pytest.mark.skipif(not HUMANEVAL.exists(), reason="PROGRAMMING_SAMPLE names no folder with HumanEval.jsonl.gz")
def test_humaneval(grader):
    assert failures(grader, load_problems(HUMANEVAL)[::8]) == []
