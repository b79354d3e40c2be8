"""What tested code prints may be a megabyte of anything. The readers hold the interpreter: they take linear time."""

from time import thread_time

import pytest

from langgraph_reflexion.envs.workspace.test_evidence import lacks_evidence
from langgraph_reflexion.envs.workspace.truncate import failed_tests, first_error, linter_errors, truncate

pytestmark = pytest.mark.slow

SECONDS = 1.25
"""CPU seconds for all readers of so much, on a slow machine; quadratic time takes minutes."""
SIZE = 100_000
SPACES = " " * 980
UNITS = [
    *(
        "\n",
        " ",
        "=",
        "\r",
        "\t\n",
        "1 a ",
        "1 a, ",
        "1 passed in ",
        "Results ():\n",
        "Results ():\n 1 a\n",
        "\x1b]",
        "\x1bP",
    ),
    *(
        "thread '",
        "thread '\n",
        "' ",
        "panicked at ",
        "in ",
        "test ",
        "test x - ",
        "test result: ok. 1 passed; ",
        "> x\n",
    ),
    *(
        "error\n",
        "FAILED a::",
        "E  ",
        "A.",
        "AError",
        "\u2716 a (",
        " (",
        "(1",
        "target/",
        "# Subtest: \n",
        "\u2714 a.js (",
        "0x1",
    ),
    *(f"not ok 1 - a{SPACES}b\n", f"\u2716 {'a (' * 300}\n", f"thread '{chr(39) * 400} ' x\n", f"1{SPACES}a\n"),
]


def evidence(command):
    """A reader of what this command reports, on both channels."""
    return lambda output: lacks_evidence(command, output, lambda path: "", output)


COMMANDS = [evidence(command) for command in ("pytest", "npm test", "node --test", "cargo test", "go test -v ./...")]
FINDERS = [truncate, first_error, failed_tests, linter_errors]
AROUND = [
    ("", "", [*COMMANDS, *FINDERS]),
    # What opens a summary of pytest-sugar, or a report of a panic in Rust.
    ("Results (x):\n", "!", [evidence("pytest")]),
    ("thread '", "x", FINDERS),
]
"""What precedes and follows many units, and who reads that."""


@pytest.mark.parametrize("unit", UNITS, ids=ascii)
def test_a_megabyte_is_read_quickly(unit):
    for head, tail, readers in AROUND:
        output = head + unit * (SIZE // len(unit)) + tail
        began = thread_time()
        for read in readers:
            read(output)
        assert thread_time() - began < SECONDS
