"""A plugin for pytest that watches what is done while tests are collected, and writes it into a file."""

import gc
import json
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import langgraph_reflexion.studio  # noqa: F401 - the graphs that it serves have environments
from langgraph_reflexion.envs.base import Environment

TESTS = str(Path(__file__).parents[1])
WORK = {"os.fork", "os.forkpty", "os.posix_spawn", "os.system", "subprocess.Popen"}
WORK |= {"socket.bind", "socket.connect", "sqlite3.connect", "os.mkdir", "os.remove", "os.rename"}

_done: list[str] = []
_before: list[Environment] = []


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--collected", help="the file that is written")


def pytest_configure() -> None:
    _before.extend(_environments())
    sys.addaudithook(_watch)


def pytest_collection_finish(session: pytest.Session) -> None:
    before = {id(each) for each in _before}
    made = sorted(type(each).__name__ for each in _environments() if id(each) not in before)
    report = {"done": _done, "environments": made}
    Path(session.config.getoption("--collected")).write_text(json.dumps(report))


def _environments() -> list[Environment]:
    return [each for each in gc.get_objects() if isinstance(each, Environment)]


def _watch(event: str, args: tuple[Any, ...]) -> None:
    if event in WORK and (place := _place(sys._getframe(1))):
        _done.append(f"{place}: {event}")


def _place(frame: FrameType | None) -> str:
    """The line of a test module below which this happens; nothing where there is none."""
    while frame:
        if frame.f_code.co_filename.startswith(TESTS) and frame.f_code.co_filename != __file__:
            return f"{frame.f_code.co_filename}:{frame.f_lineno}"
        frame = frame.f_back
    return ""
