import pytest

from langgraph_reflexion.envs.workspace.test_evidence import lacks_evidence, lost_test


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("pytest -q", "...   [100%]\n3 passed in 0.01s"),
        ("python -m pytest tests", "==== 3 passed, 1 skipped in 61.20s (0:01:01) ====\n"),
        ("pytest", "\nResults (0.02s):\n       3 passed\n       1 skipped\n"),
        ("pytest -q || pytest -q --lf", "1 failed in 0.10s\n1 passed in 0.01s\n"),
        ("pytest", "1 xfailed in 0.01s\n"),
        ("node --test", "# Subtest: adds\nok 1 - adds\n# tests 1\n# pass 1\n# fail 0\n"),
        ("node --test", "\u2714 adds (0.4ms)\n\u2139 tests 1\n\u2139 fail 0\n"),
        ("node --test", "# Subtest: /w/test/helper.js\nok 1 - /w/test/helper.js\n# fail 0\n"),
        ("cargo test --offline", "running 2 tests\ntest result: ok. 2 passed; 0 failed\n"),
        ("python3 -m unittest", "Ran 3 tests in 0.001s\n\nOK (skipped=1)\n"),
        ("go test -v ./...", "PASS\nok  \tsame\t0.064s\n?   \tsame/none\t[no test files]\n"),
        ("go test -cover -v ./...", "PASS\ncoverage: 100.0% of statements\nok  \tsame\t0.07s\tcoverage: 100.0%\n"),
        # Not known, or told to say less.
        ("make check", ""),
        ("pytest -qq", "...\n"),
        ("pytest -q", "...    [ 50%]\n.s.    [100%]\n"),
        ("npm test", "\n> sum@1.0.0 test\n> node check.js\n"),
    ],
)
def test_an_honest_success_counts(command, output):
    assert lacks_evidence(command, output, lambda path: "exports.eight = 8") == ""


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("pytest", ""),
        ("sh -c 'cd x && pytest -q'", "..."),
        ("pytest -q", "..F    [ 50%]\n.s.    [100%]\n"),
        ("pytest", "1 passed in 0.10s\n1 failed, 2 passed in 0.01s"),
        # What code under test prints when pytest has ended.
        ("pytest", "1 failed in 0.10s\n1 passed in 0.01s\n"),
        ("pytest", "==== no tests ran in 0.10s ====\n1 passed in 0.01s\n"),
        # pytest.exit(returncode=0) in the code under test, and pytest.skip.
        ("pytest", ".\n!!!!!!!! _pytest.outcomes.Exit: fine !!!!!!!!\n1 passed in 0.01s\n"),
        ("pytest", "2 skipped in 0.01s\n"),
        ("pytest", "\nResults (0.02s):\n       3 passed\n       1 failed\n         - tests/test_a.py:3 test_a\n"),
        ("npm test", "\n> sum@1.0.0 test\n> node --test\n\nok 1 - adds\n"),
        ("python3 -W error -m unittest", ""),
        ("node --test", "# Subtest: /w/test/a.test.js\nok 1 - /w/test/a.test.js\n# fail 0\n"),
        ("cargo test", "running 2 tests\ntest result: ok. 2 passed\nrunning 3 tests\n"),
        ("go test -v ./...", "PASS\nok  \tone\t0.064s\nok  \tsame\t0.024s\n?   \tsame/none\t[no test files]\n"),
        ("python3 -m unittest", "Ran 3 tests in 0.001s\n\nFAILED (failures=1)\n"),
    ],
)
def test_a_success_without_the_programs_word_does_not(command, output):
    assert lacks_evidence(command, output, lambda path: "const test = require('node:test')")


DONE = "unittest {}\n".format
BEGUN, PASSED = DONE('{"ended": false}'), DONE('{"ended": true, "ran": 2, "ok": true}')
FORGED = "Ran 1 test in 0.0s\n\nOK\n"


@pytest.mark.parametrize(
    ("command", "reported", "why"),
    [
        ("python3 -m unittest", BEGUN + PASSED, ""),
        ("python3 -m unittest a; python3 -m unittest b", BEGUN + PASSED + BEGUN + PASSED, ""),
        ("python3 -m unittest a; python3 -m unittest b", BEGUN + BEGUN + PASSED, "without a result"),
        ("python3 -m unittest", BEGUN, "without a result"),
        ("python3 -m unittest | tail -3", BEGUN, "without a result"),
        ('bash -c "python3 -m unittest"', BEGUN, "without a result"),
        ("python3 -m unittest", BEGUN + DONE('{"ended": true, "ran": 2, "ok": false}'), "a failure"),
        ("python3 -m unittest", BEGUN + DONE('{"ended": true, "ran": 0, "ok": true}'), "no test"),
        ("python3 -m unittest", BEGUN + DONE("[" * 100_000), "without a result"),
        ("python3 -m unittest", BEGUN + DONE("9" * 9_000), "without a result"),
    ],
)
def test_unittest_counts_by_its_report(command, reported, why):
    assert why in lacks_evidence(command, FORGED, lambda path: "", reported)
    assert bool(why) == bool(lacks_evidence(command, FORGED, lambda path: "", reported))


LISTED = "\nadds: test\ntests::adds: test\n\n2 tests, 0 benchmarks\n"
ADDED = "test adds ... ok\ntest tests::adds - should panic ... ignored, slow\n"
RESULT = "test result: ok. 1 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s\n"
RUN = "running 2 tests\n"


@pytest.mark.parametrize(
    ("command", "output", "why"),
    [
        ("cargo test", RUN + ADDED + RESULT, ""),
        ("cargo test -q", RUN + ".i\n" + RESULT, ""),
        ("cargo test", RUN + ADDED.replace("test adds", "saidtest adds") + RESULT, ""),
        ("cargo test", RUN + ADDED.replace("... ok", "... \nsaid\nok") + RESULT, ""),
        ("cargo test", RUN + RESULT, "does not report the test adds"),
        ("cargo test", RUN + "test adds ... ok\ntest adds ... ok\n" + RESULT, "does not report the test tests::adds"),
        ("cargo test", RUN + ADDED + RESULT.replace("1 ignored", "0 ignored"), "reports 1 tests, of 2"),
        ("cargo test -q", RUN + RESULT.replace("1 passed", "0 passed"), "reports 1 tests, of 2"),
    ],
)
def test_cargo_must_report_each_test_that_it_lists(command, output, why):
    assert why in lacks_evidence(command, output, lambda path: "", LISTED)
    assert bool(why) == bool(lacks_evidence(command, output, lambda path: "", LISTED))


def test_a_test_may_be_added_but_not_removed():
    assert lost_test(LISTED, LISTED + "more: test\n") == ""
    assert "the test adds, " in lost_test(LISTED, LISTED.replace("\nadds: test", ""))
    assert "the test adds, " in lost_test(LISTED, LISTED + "adds: ignored\n")
    assert lost_test(LISTED + "adds: ignored\n", LISTED) == ""
