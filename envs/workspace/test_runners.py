"""Test programs that say in a result of their own what they ran, apart from what the tested code prints."""

import json
import platform
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "runners"
"""The programs, which a command sees read-only."""
PLACE = Path("/tmp/sandbox-runners")
"""Where a command sees them, if the sandbox can move folders."""
LIST = "LANGGRAPH_REFLEXION_LIST"
"""The environment variable with which test programs of cargo are listed and not run."""

UNITTEST = r"python[\d.]* (?:-[WX] \S+ |-\S+ )*-m unittest"
CARGO = r"cargo (?:\+\S+ )?(?:-\S+ )*(?:t|test)"
_PYTHON = UNITTEST.removesuffix("-m unittest")
_UNITTEST = re.compile(rf"((?:^|[\s;&(/'\"]){_PYTHON})-m unittest(?=[\s;&)'\"]|$)")
_LISTED = re.compile(r"^(\S+): test$", re.MULTILINE)
_IGNORED = re.compile(r"^(\S+): ignored$", re.MULTILINE)


def through_runner(command: str, place: Path) -> str:
    """Return a command line in which unittest runs through its program in the folder `place`."""
    if re.search(r"\s", str(place)):
        return command
    return _UNITTEST.sub(rf"\1{place}/unittest_results.py", command)


def environment(place: Path) -> dict[str, str]:
    """Return the variables by which cargo runs test programs through the program in the folder `place`."""
    # cargo splits the value at white space.
    if re.search(r"\s", str(place)):
        return {}
    runner = f"sh {place}/cargo_results.sh"
    prefix = f"CARGO_TARGET_{platform.machine().upper()}_UNKNOWN_LINUX"
    return {f"{prefix}_GNU_RUNNER": runner, f"{prefix}_MUSL_RUNNER": runner}


def unittest_failure(reported: str) -> str | None:
    """Return why the reports of unittest do not show a success: "" if they do, None if there are none."""
    lines = [line for line in reported.split("\n") if line.startswith("unittest ")]
    if not lines:
        return None
    messages = [_message(line) for line in lines]
    ended = [message for message in messages if message.get("ended") is True]
    # Each run says that it begins and that it has ended.
    if 2 * len(ended) != len(messages):
        return "unittest ended without a result"
    if not all(message.get("ok") is True for message in ended):
        return "unittest reports a failure"
    if not any(message.get("ran") for message in ended):
        return "unittest ran no test"
    return ""


def _message(line: str) -> Mapping[str, object]:
    try:
        message = json.loads(line.removeprefix("unittest "))
    except (ValueError, RecursionError):
        return {}
    if not isinstance(message, dict):
        return {}
    return message


def listed(reported: str) -> Counter[str]:
    """Return how often cargo's test programs list each test."""
    return Counter(_LISTED.findall(reported))


def active(reported: str) -> Counter[str]:
    """Return how often cargo's test programs list each test that they do not ignore."""
    return listed(reported) - Counter(_IGNORED.findall(reported))
