"""Runs unittest in place of `python -m unittest`, and reports the result on descriptor 3.

What the tested code prints is then no result. It uses the standard library only, since any Python of a workspace may
run it.
"""

from __future__ import annotations

import fcntl
import json
import os
import sys
import unittest

_RESULT = 3
_OUT_OF_THE_WAY = 200
__unittest = True  # leaves these frames out of the tracebacks


class _Program(unittest.TestProgram):
    def runTests(self) -> None:  # noqa: N802 - unittest's own name
        try:
            super().runTests()
        finally:
            # There is none if the tests were left by an exception, such as SystemExit.
            result = getattr(self, "result", None)
            if result is not None:
                # A test that the tested code skips has not run.
                ran = result.testsRun - len(result.skipped)
                _report({"ended": True, "ran": ran, "ok": result.wasSuccessful()})


def _report(message: dict[str, object]) -> None:
    os.write(_reporting, f"unittest {json.dumps(message)}\n".encode())


if __name__ == "__main__":
    # Neither the tested code nor what it starts writes there by accident.
    _reporting = fcntl.fcntl(_RESULT, fcntl.F_DUPFD_CLOEXEC, _OUT_OF_THE_WAY)
    os.close(_RESULT)
    _report({"ended": False})
    if not getattr(sys.flags, "safe_path", sys.flags.isolated):
        # As with `-m`, the folder of this file is replaced.
        sys.path[0] = os.getcwd()
    sys.argv[0] = f"{os.path.basename(sys.executable)} -m unittest"
    _Program(module=None)
