"""Runs what a page shows: Python in one namespace from block to block, and the command line, in this process."""

import contextlib
import gc
import io
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from langgraph_reflexion import cli
from langgraph_reflexion.testing import ModelServer
from tests.docs.pages import Block

LOCAL = re.compile(r"http://(?:localhost|127\.0\.0\.1):\d+/v1")
"""Where a page says that a server of the reader's listens."""

PASSING = [
    (re.compile(r"\b\d+(?:\.\d+)? s\b"), "N s"),
    (re.compile(r"commit [0-9a-f]{7,}"), "commit N"),
]
"""What differs from run to run, and how it is masked on both sides."""


EXCERPT = "excerpt"
"""The title of an output of which not every line is shown."""


class Reader:
    """Somebody who does what a page says, in an empty folder, with a model server where a page names one.

    Args:
        home: The folder.
        server: Answers for `openai:...` and for every local server.
        patch: Undoes at the end what is set here.
    """

    def __init__(self, home: Path, server: ModelServer, patch: pytest.MonkeyPatch) -> None:
        self.home = home
        self.server = server
        self.patch = patch
        self.namespace: dict[str, Any] = {"__name__": "__main__"}
        home.mkdir()
        patch.chdir(home)
        patch.setenv("OPENAI_API_KEY", "any")
        patch.setenv("OPENAI_BASE_URL", server.url)
        patch.setenv("COLUMNS", "100")
        patch.setenv("XDG_CACHE_HOME", str(home / ".cache"))
        patch.setattr(sys, "path", [*sys.path, str(home)])
        patch.setattr(sys, "stdin", io.StringIO())

    def write(self, block: Block) -> None:
        """Keep a block as the file that its title names."""
        file = self.home / block.title
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(LOCAL.sub(self.server.url, block.text), encoding="utf-8")

    def python(self, block: Block, page: str) -> str:
        """Run a block, and give what it printed. An error names the page and its line."""
        code = compile("\n" * (block.line - 1) + block.text, page, "exec")
        with contextlib.redirect_stdout(io.StringIO()) as said:
            exec(code, self.namespace)
        return said.getvalue()

    def apart(self, block: Block, page: str) -> str:
        """Run a block in a process of its own, and give what it printed."""
        done = subprocess.run(
            [sys.executable, "-c", block.text], capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, f"{page}, line {block.line}: {done.stderr}"
        return done.stdout

    def command(self, command: str) -> tuple[int, str, str]:
        """Run a command line of ours, and give its exit status, what it printed, and what it complained of."""
        program, *words = shlex.split(LOCAL.sub(self.server.url, command))
        assert program == "langgraph-reflexion", command
        self.patch.setattr(sys, "argv", [program, *words])
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), pytest.raises(SystemExit) as ended:
            cli.main()
        return int(ended.value.code or 0), out.getvalue(), err.getvalue()

    def leave(self) -> None:
        """Forget what was opened, and this folder's modules: the next page may have others of the same name."""
        for name, module in list(sys.modules.items()):
            if str(getattr(module, "__file__", None) or "").startswith(str(self.home)):
                del sys.modules[name]
        self.namespace.clear()
        gc.collect()


def lines(text: str) -> list[str]:
    """The lines of an output, with what passes masked."""
    for pattern, mask in PASSING:
        text = pattern.sub(mask, text)
    return [" ".join(line.split()) for line in text.strip("\n").splitlines()]


def check_output(shown: Block, true: str) -> None:
    """Hold a page's output against the true one: all of it, or with the title `excerpt` its lines in their order."""
    if shown.title != EXCERPT:
        assert lines(shown.text) == lines(true)
        return
    rest = iter(lines(true))
    for line in lines(shown.text):
        assert line in ("", "...") or line in rest, f"{line!r} does not come in\n{true}"
