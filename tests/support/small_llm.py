"""Small language models behind llama.cpp's server, for tests, which are skipped where one is not installed."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.support.processes import free_port

ROOT = Path(__file__).parents[2]
VENV = ROOT / ".venv-llm"
PYTHON = VENV / "bin" / "python"
SERVER = ROOT / "docs" / "experiments" / "llm_server.py"
MODELS = Path(os.environ.get("LLM_MODELS") or Path.home() / ".cache" / "langgraph-reflexion" / "models")
QWEN = MODELS / "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"


def need_smollm2() -> None:
    """Skip the running test unless SmolLM2 and the server are installed."""
    if not (VENV / "smollm2").exists():
        pytest.skip("there is no .venv-llm/smollm2: make .venv-llm/smollm2")


def need_qwen() -> None:
    """Skip the running test unless Qwen2.5-Coder-0.5B and the server are installed."""
    if not (VENV / "server").exists() or not QWEN.exists():
        pytest.skip(f"there is no .venv-llm/server or no {QWEN.name} in {MODELS}: make .venv-llm/qwen-0.5b")


@contextmanager
def serving(model: str) -> Iterator[str]:
    """Serve a model, and yield the address of the server, which ends with its standard input."""
    port, waiting = free_port(), [sys.executable, "-c", "import sys; sys.stdin.read()"]
    command = [str(PYTHON), str(SERVER), model, f"port={port}", "threads=1", "--", *waiting]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, stdin=subprocess.PIPE, **quiet) as server:
        for _ in range(600):
            try:
                if httpx.get(f"http://127.0.0.1:{port}/health").status_code == 200:
                    break
            except httpx.TransportError:
                assert server.poll() is None, "the server has ended"
            time.sleep(0.1)
        else:
            raise TimeoutError(f"the server of {model} did not answer within a minute")
        yield f"http://127.0.0.1:{port}/v1"
        server.communicate()
