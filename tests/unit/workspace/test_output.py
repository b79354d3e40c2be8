import pytest

from langgraph_reflexion.envs.workspace.truncate import failed_tests, first_error, linter_errors, plain_text, truncate

PYTEST = """\
>       assert tax(0.05) == 1
E       assert 0 == 1

tests/test_tax.py:9: AssertionError
=========================== short test summary info ============================
FAILED tests/test_tax.py::test_rounding - assert 0 == 1
========================= 1 failed, 2 passed in 0.03s ==========================
"""
NODE = """\
ok 1 - adds
# Subtest: handles an empty list
not ok 2 - handles an empty list
  ---
  error: "Cannot read properties of undefined (reading 'map')"
  ...
"""
CARGO = """\
test tests::pops_in_order ... FAILED
test tests::starts_empty ... ok

---- tests::pops_in_order stdout ----

thread 'tests::pops_in_order' (4711) panicked at src/lib.rs:31:9:
assertion `left == right` failed

error: test failed, to rerun pass `--lib`
"""
RUSTC = """\
   Compiling heap v0.1.0 (/code/heap)
error[E0308]: mismatched types
 --> src/lib.rs:4:5

error: aborting due to 1 previous error
error: could not compile `heap` (lib) due to 1 previous error
"""
TSC = """\
src/cart.ts(12,7): error TS2322: Type 'string' is not assignable to type 'number'.
src/cart.ts(30,3): error TS2554: Expected 2 arguments, but got 1.
"""
ESLINT = """\

/code/src/cart.js
   3:7   error    'total' is assigned a value but never used  no-unused-vars
  10:1   warning  Unexpected console statement                no-console
"""
MYPY = 'app/x.py:3: error: Incompatible return value type (got "str", expected "int")  [return-value]\n'
MYPY += "Found 1 error in 1 file\n"
RUFF = "app/x.py:1:8: F401 [*] `os` imported but unused\nFound 1 error.\n"
JEST = "  ● cart adds up\n\n    expect(received).toBe(expected)\n\n    Expected: 3\n"


@pytest.mark.parametrize(
    ("output", "error", "tests", "linters"),
    [
        (PYTEST, "assert 0 == 1", ["tests/test_tax.py::test_rounding"], []),
        (NODE, "error: \"Cannot read properties of undefined (reading 'map')\"", ["handles an empty list"], []),
        (CARGO, "thread 'tests::pops_in_order' panicked at src/lib.rs:31:9:", ["tests::pops_in_order"], []),
        (RUSTC, "error[E0308]: mismatched types", [], ["error[E0308]: mismatched types"]),
        (TSC, TSC.split("\n")[0], [], TSC.strip().split("\n")),
        (ESLINT, ESLINT.split("\n")[2].strip(), [], ESLINT.split("\n")[2:3]),
        (MYPY, MYPY.split("\n")[0], [], MYPY.split("\n")[:1]),
        (RUFF, RUFF.split("\n")[0], [], RUFF.split("\n")[:1]),
        (JEST, "● cart adds up", ["cart adds up"], []),
        ("make: *** [Makefile:2: check] Error 1\n", "make: *** [Makefile:2: check] Error 1", [], []),
        ("", "", [], []),
    ],
)
def test_findings(output, error, tests, linters):
    assert first_error(output) == error
    assert failed_tests(output) == tests
    assert linter_errors(output) == [each.strip() for each in linters]


def test_what_is_short_is_told_whole_but_for_times():
    told = truncate(PYTEST)
    assert told == PYTEST.strip("\n").replace("0.03s", "…s")
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
