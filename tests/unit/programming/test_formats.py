import gzip
import json
import os
import tomllib
from dataclasses import asdict
from pathlib import Path

import pytest

from langgraph_reflexion.envs.programming.formats import load_problems
from langgraph_reflexion.envs.programming.problems import Case
from langgraph_reflexion.errors import ConfigurationError

PROBLEMS = tomllib.loads(Path(__file__).with_name("problems.toml").read_text(encoding="utf-8"))
HUMANEVAL, MULTIPL_E, MBPP, PLUS, LEETCODE, RUST = PROBLEMS.values()
RUST = MULTIPL_E | RUST


def write(folder, *rows, name="problems.jsonl"):
    path = folder / name
    data = "\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows).encode()
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


def only(folder, row):
    (problem,) = load_problems(write(folder, row))
    return problem


def test_humaneval(tmp_path):
    problem = only(tmp_path, HUMANEVAL)
    assert (problem.id, problem.language) == ("HumanEval/0", "python")
    assert problem.cases == (
        Case("candidate(3)", "1.5"),
        Case("candidate(1)", "1.0 / 2", "close", 1e-6),
        Case("candidate(0)", "False", "truth"),
    )
    assert str(problem.canonical).endswith("return n / 2\n")
    assert not problem.test


def test_other_checks_stay_source(tmp_path):
    test = "def check(candidate):\n    for n in range(5):\n        assert candidate(n) == twice(n) / 4\n"
    prompt = "import math\n\ndef twice(n):\n    return 2 * n\n\n" + HUMANEVAL["prompt"]
    problem = only(tmp_path, {**HUMANEVAL, "test": test, "prompt": prompt})
    assert not problem.cases
    assert problem.test == f"{test}\n\ncheck(candidate)\n"
    assert "def twice" in problem.setup
    assert "def half" not in problem.setup


def test_multipl_e_in_python_and_rust(tmp_path):
    problem = only(tmp_path, MULTIPL_E)
    assert problem.cases == (Case("candidate(3)", "1.5"),)
    rust = only(tmp_path, RUST)
    assert (rust.language, rust.stop_tokens) == ("rust", ("\n}",))
    assert rust.cases == (Case("half(3)", "1.5"), Case("half(0)", "0.0"))


def test_mbpp_and_sanitized_mbpp(tmp_path):
    problem = only(tmp_path, MBPP)
    assert (problem.id, problem.entry_point) == ("mbpp/3", "half")
    assert [case.expected for case in problem.cases] == ["1.5", "0", "-0.5"]
    assert problem.visible_tests == ("assert half(3) == 1.5",)
    assert MBPP["text"] in problem.prompt
    sanitized = {"source_file": "x", "prompt": MBPP["text"], "test_imports": ["import math"], **MBPP}
    del sanitized["text"], sanitized["challenge_test_list"]
    (other,) = load_problems(write(tmp_path, json.dumps([sanitized]), name="sanitized.json"))
    assert (other.prompt, other.setup) == (problem.prompt, "import math")


def test_evalplus_restores_types(tmp_path):
    problem = only(tmp_path, PLUS)
    assert {case.expected for case in problem.cases} == {""}
    assert [case.call for case in problem.cases] == ["add_tuple([5], (6, 7))", "add_tuple([], ())"]
    human = only(tmp_path, {**PLUS, "task_id": "HumanEval/750", "plus_input": [[[float("inf")], []]]})
    assert [case.call for case in human.cases] == ["add_tuple([5], [6, 7])", "add_tuple([inf], [])"]


def test_leetcode_and_problems_with_classes_cannot_be_graded(tmp_path):
    problem = only(tmp_path, LEETCODE)
    assert (problem.gradable, problem.visible_tests) == (False, ("assert halves(8, 2) == 2",))
    assert not only(tmp_path, {**MBPP, "test_setup_code": "class Node:\n    pass"}).gradable


def test_gzip_and_json_round_trip(tmp_path):
    (problem,) = load_problems(write(tmp_path, HUMANEVAL, "", name="packed.jsonl.gz"))
    (again,) = load_problems(write(tmp_path, asdict(problem)))
    assert again == problem


def test_problems_are_chosen_by_their_language(tmp_path):
    path = write(tmp_path, {**MULTIPL_E, "name": "one"}, {**RUST, "name": "two"})
    assert [problem.id for problem in load_problems(path, "rs")] == ["two"]
    for language in ("go", "basic"):
        with pytest.raises(ConfigurationError, match=language):
            load_problems(path, language)


OWN = {"id": "f", "language": "python", "prompt": "def f(n):\n", "entry_point": "f"}


@pytest.mark.parametrize(
    ("row", "word"),
    [
        ("[1]", "object"),
        ({"question": "?"}, "question"),
        ({**HUMANEVAL, "prompt": 3}, "'prompt'"),
        ({**HUMANEVAL, "test": "def check(candidate):\n    pass"}, "hidden tests"),
        ({**OWN, "cases": [{"call": 1, "expected": "2"}]}, r"cases\.0\.call"),
        ({**OWN, "cases": [{"call": "f(g)", "expected": "2"}]}, "literal"),
        ({**OWN, "cases": [{"call": "f(1)", "expected": "2", "comparison": "~"}]}, "'~'"),
        ({**HUMANEVAL, "task_id": "mine"}, "'mine'"),
        ({**RUST, "test": "assert_eq!(candidate(3), other(4));"}, "assert_eq!"),
        ({**MULTIPL_E, "language": "go"}, "MultiPL-E"),
        ({**MBPP, "test_list": ["assert other(3)"], "challenge_test_list": []}, "function"),
        ({**PLUS, "base_input": [[3, 4]]}, "Mbpp/750"),
    ],
)
def test_error_has_its_place(tmp_path, row, word):
    with pytest.raises(ConfigurationError, match=f"^{tmp_path}/problems.jsonl, line 2: .*{word}"):
        load_problems(write(tmp_path, {**HUMANEVAL, "task_id": "mine"}, row))


def test_unreadable_files(tmp_path):
    (tmp_path / "cut.gz").write_bytes(gzip.compress(b"{}" * 1000)[:-9])
    (tmp_path / "empty.jsonl").touch()
    said = {"none.jsonl": "No such file", "cut.gz": r"cut\.gz cannot be read", "empty.jsonl": "no problems"}
    for name, words in said.items():
        with pytest.raises(ConfigurationError, match=words):
            load_problems(tmp_path / name)


OFFICIAL = {
    "HumanEval.jsonl.gz": (164, 164),
    "humaneval-py.jsonl.gz": (161, 161),
    "humaneval-rs.jsonl.gz": (156, 156),
    "mbpp-py.jsonl.gz": (397, 397),
    "mbpp-rs.jsonl.gz": (354, 354),
    "leetcode-hard-py.jsonl.gz": (296, 0),
}


@pytest.mark.slow
@pytest.mark.skipif("PROGRAMMING_SAMPLE" not in os.environ, reason="PROGRAMMING_SAMPLE names no folder")
def test_official_files():
    folder = Path(os.environ["PROGRAMMING_SAMPLE"])
    for name, expected in OFFICIAL.items():
        problems = load_problems(folder / name) if (folder / name).exists() else []
        assert not problems or (len(problems), sum(problem.gradable for problem in problems)) == expected, name
        assert all(bool(problem.cases or problem.test) == problem.gradable for problem in problems), name
