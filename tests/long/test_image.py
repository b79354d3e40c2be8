"""The image that `langgraph dockerfile` describes: its install lines give a server whose six graphs run.

There is no Docker here: the lines run in a fresh virtual environment, with pip in place of uv. What the base image
has already, `langgraph-api`, is installed first, as `langgraph-cli[inmem]`.
"""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from langgraph_sdk import get_sync_client

from langgraph_reflexion.lab.studio.settings import ALLOWED
from tests.support.model_server import ModelServer
from tests.support.processes import langgraph_dev
from tests.support.scripts import SmallModel
from tests.support.tools import need

ROOT = Path(__file__).parents[2]
CONFIG = json.loads((ROOT / "langgraph.json").read_text())
UV = re.compile(r"(?:\w+=\S+ )?uv pip install --system --no-cache-dir(?: -c \S+)?")
NAMED = {"programming", "webshop", "workspace"}
"""The graphs whose model has to be named."""


def run(*command, cwd):
    env = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run([str(part) for part in command], cwd=cwd, env=env, capture_output=True, text=True)
    assert done.returncode == 0, f"{command}:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    return done.stdout


def copy_of_the_repository(folder):
    """What ADD puts into the image, of a clean clone."""
    if not (ROOT / ".git").exists():
        pytest.skip("needs a clone: git lists the files")
    listed = run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", cwd=ROOT).split("\0")
    for name in filter(None, listed):
        source, target = ROOT / name, folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_symlink():
            target.symlink_to(source.readlink())
        elif source.is_file():
            target.write_bytes(source.read_bytes())
    return folder


def install_lines(folder, deps):
    """The lines of the Dockerfile that install what the server lacks, for a shell with pip."""
    run(
        sys.executable,
        "-m",
        "langgraph_cli",
        "dockerfile",
        folder / "Dockerfile",
        "-c",
        deps / "langgraph.json",
        cwd=deps,
    )
    lines = [line for line in (folder / "Dockerfile").read_text().splitlines() if line.startswith("RUN ")]
    wanted = [line.removeprefix("RUN ") for line in lines if UV.search(line) and "/api" not in UV.sub("", line)]
    return [UV.sub("pip install -q", line).replace("/deps/*", str(deps)) for line in wanted]


def test_the_image_has_what_the_extra_of_the_shop_needs():
    """The command line of LangGraph writes names into a shell line as they are, so they have no versions."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    needed = [re.match(r"[\w-]+", requirement)[0] for requirement in extras["webshop"]]
    assert CONFIG["dependencies"] == [".", *needed]


def test_the_install_lines_of_the_image_give_a_server_of_six_graphs(tmp_path):
    need("bubblewrap")
    pytest.importorskip("langgraph_cli", reason="needs the extra [studio]: pip install '.[studio]'")
    deps = copy_of_the_repository(tmp_path / "deps")
    run(sys.executable, "-m", "venv", tmp_path / "image", cwd=tmp_path)
    python = tmp_path / "image/bin/python"
    run(python, "-m", "pip", "install", "-q", "langgraph-cli[inmem]", cwd=tmp_path)
    lines = install_lines(tmp_path, deps)
    assert len(lines) == 2, "the requirements, and the package"
    for line in lines:
        run("sh", "-ec", f'PATH="{python.parent}:$PATH"\n{line}', cwd=tmp_path)
    assert not [path.name for path in tmp_path.iterdir() if path.name.startswith("=")], "no version became a file"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment |= {"LANGSMITH_TRACING": "false", "OPENAI_API_KEY": "any"}
    with ModelServer(SmallModel()) as served:
        environment[ALLOWED] = served.url
        named = {"model": "openai:small", "base_url": served.url}
        statuses = {}
        (tmp_path / "served").mkdir()
        log = tmp_path / "served/log"
        config = deps / "langgraph.json"
        with (
            langgraph_dev(config, log, environment, python=python) as address,
            get_sync_client(url=address) as client,
        ):
            for graph in CONFIG["graphs"]:
                context = {"max_trials": 3, **(named if graph in NAMED else {})}
                final = client.runs.wait(None, graph, input={"number": 1}, context=context)
                statuses[graph] = final["status"]
    assert len(statuses) == 6
    assert set(statuses.values()) <= {"solved", "failed"}, statuses
