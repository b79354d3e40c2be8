import pytest

from langgraph_reflexion.envs.workspace.test_evidence import lacks_evidence


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("pytest -q", "...   [100%]\n3 passed in 0.01s"),
        ("python -m pytest tests", "==== 3 passed, 1 skipped in 61.20s (0:01:01) ====\n"),
        ("pytest", "\nResults (0.02s):\n       3 passed\n       1 skipped\n"),
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
