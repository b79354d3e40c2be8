import tomllib
from pathlib import Path

import pytest

from langgraph_reflexion.envs.workspace.truncate import failed_tests, first_error, linter_errors, plain_text, truncate

OUTPUTS = tomllib.loads(Path(__file__).with_name("outputs.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", OUTPUTS)
def test_findings(name):
    found = {"error": "", "tests": [], "linters": []} | OUTPUTS[name]
    output = found.pop("output")
    assert found == {"error": first_error(output), "tests": failed_tests(output), "linters": linter_errors(output)}


def test_what_is_short_is_told_whole_but_for_times():
    short = OUTPUTS["pytest"]["output"]
    told = truncate(short)
    assert told == short.strip("\n").replace("0.03s", "…s")
    assert truncate(told) == told


def test_times_addresses_colours_and_progress_are_left_out():
    assert plain_text("2 passed in 0.31s") == plain_text("2 passed in 1.02s") == "2 passed in …s"
    assert plain_text("<A object at 0x7f00deadbeef>") == "<A object at 0x…>"
    assert plain_text("line 31 in main, 4 items") == "line 31 in main, 4 items"
    assert plain_text("\x1b[1m\x1b[31mred\x1b[0m\x1b]0;title\x07 end") == "red end"
    assert plain_text("1 %\r50 %\r100 %\nnext\r\n") == "100 %\nnext"


@pytest.mark.parametrize("most", [500, 4000])
def test_of_long_output_the_first_errors_and_the_last_lines_stay(most):
    noise = [f"step {n} went well: 0 errors, 0 failed" for n in range(4_000)]
    noise[700:702] = ["src/a.c:4:2: error: expected ';'", "   int x"]
    noise[3_000] = "ld: cannot find -lfoo"
    noise[-1] = "make: *** [all] Error 2"
    told = truncate("\n".join(noise), most)
    assert len(told) <= most
    assert f"lines omitted]\n{noise[699]}\nsrc/a.c:4:2: error: expected ';'\n   int x" in told
    assert told.endswith("make: *** [all] Error 2")
    assert len(truncate("error: no\n" * 20_000 + "x" * 20_000, most)) <= most
