"""Generated problems: the same in both languages, open at the edges, different under another seed."""

import re

from langgraph_reflexion.envs.programming.generated import generated_problems
from langgraph_reflexion.envs.programming.generated.draw import draw_family
from tests.support.programming.spread import examples_of

LANGUAGES = ["python", "rust"]


def test_languages_share_their_problems():
    for python, rust in zip(*map(generated_problems, LANGUAGES), strict=True):
        assert (python.id, python.entry_point, len(python.cases)) == (rust.id, rust.entry_point, len(rust.cases))
        assert python.prompt.endswith('"""\n')
        assert rust.prompt.endswith(" {\n")
        words = re.search(r"Take .*?(?=>>>)", python.prompt, re.DOTALL)[0].split()
        assert words == re.search(r"Take .*?(?=>>>)", rust.prompt.replace("///", ""), re.DOTALL)[0].split()


def test_examples_leave_edge_cases_open():
    nothing = ([], "", 0)
    for problem, drawn in zip(generated_problems("python"), draw_family(0), strict=True):
        shown, hidden = [each[0] for each in drawn.examples], [each[0] for each in drawn.tests]
        assert 2 <= len(examples_of(problem)) <= 3
        assert len(hidden) >= 8, problem.id
        assert any(each in nothing for each in hidden), problem.id
        assert not any(each in nothing for each in shown), problem.id
        assert not [each for each in drawn.examples if each in drawn.tests], problem.id
        first = drawn.pipeline.steps[0]
        near = () if first.argument else first.operation.tempting(first.constant)
        assert not {each for value in shown if isinstance(value, list) for each in value} & set(near), problem.id


def test_problems_depend_on_the_seed():
    first, other = generated_problems("python", 0), generated_problems("python", 1)
    assert generated_problems("python", 0) == first
    names = {each.entry_point for each in first}
    assert len(names) == len(first)
    assert len(names & {each.entry_point for each in other}) < len(names) / 4
    assert not {each.id for each in first} & {each.id for each in other}
