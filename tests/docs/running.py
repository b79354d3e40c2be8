"""Runs what a page shows: Python in one namespace from block to block, and the command line, in this process."""

import contextlib
import gc
import io
import re
import shlex
import subprocess
import sys

from tests.support.cli import call, forget

LOCAL = re.compile(r"http://(?:localhost|127\.0\.0\.1):\d+/v1")
"""The address of the reader's own server on a page."""

PASSING = [(re.compile(r"\b\d+(?:\.\d+)? s\b"), "N s"), (re.compile(r"commit [0-9a-f]{7,}"), "commit N")]
"""Parts of an output that differ between runs, and their masks."""


EXCERPT = "excerpt"
"""The title of an output that is shown in part."""


class Reader:
    """Does what a page says, in an empty folder, with a server that answers for `openai:...` and every local one."""

    def __init__(self, home, server, patch):
        self.home = home
        self.server = server
        self.namespace = {"__name__": "__main__"}
        self.environment = {"OPENAI_API_KEY": "any", "OPENAI_BASE_URL": server.url, "COLUMNS": "100"}
        self.environment["XDG_CACHE_HOME"] = str(home / ".cache")
        home.mkdir()
        patch.chdir(home)
        for name, value in self.environment.items():
            patch.setenv(name, value)
        patch.setattr(sys, "path", [*sys.path, str(home)])

    def write(self, block):
        """Write a block to the file that its title names."""
        file = self.home / block.title
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(LOCAL.sub(self.server.url, block.text), encoding="utf-8")

    def python(self, block, page):
        """Run a block, and return its output. An error names the page and its line."""
        code = compile("\n" * (block.line - 1) + block.text, page, "exec")
        with contextlib.redirect_stdout(io.StringIO()) as said:
            exec(code, self.namespace)
        return said.getvalue()

    def apart(self, block, page):
        """Run a block in a separate process, and return its output."""
        done = subprocess.run([sys.executable, "-c", block.text], capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, f"{page}, line {block.line}: {done.stderr}"
        return done.stdout

    def command(self, command, apart=False):
        """Run one of our command lines, and return its exit status, standard output and standard error."""
        program, *words = shlex.split(LOCAL.sub(self.server.url, command))
        assert program == "langgraph-reflexion", command
        if apart:
            module = [sys.executable, "-m", "langgraph_reflexion", *words]
            done = subprocess.run(module, capture_output=True, text=True, timeout=120, cwd=self.home)
            return done.returncode, done.stdout, done.stderr
        return call(self.home, *words, environment=self.environment)

    def leave(self):
        """Close what is open, and forget this folder's modules."""
        forget(self.home)
        self.namespace.clear()
        gc.collect()


def lines(text):
    """The lines of an output, masked."""
    for pattern, mask in PASSING:
        text = pattern.sub(mask, text)
    return [" ".join(line.split()) for line in text.strip("\n").splitlines()]


def check_output(shown, true):
    """Compare a page's output with the true one: all of it, or with the title `excerpt` its lines in order."""
    if shown.title != EXCERPT:
        assert lines(shown.text) == lines(true)
        return
    rest = iter(lines(true))
    for line in lines(shown.text):
        assert line in ("", "...") or line in rest, f"{line!r} is missing, or out of order, in\n{true}"
