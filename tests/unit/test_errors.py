import json
import os
import subprocess
import sys
from dataclasses import replace

import pytest

import langgraph_reflexion as lr
from langgraph_reflexion.evaluators.function import CommandEvaluator
from langgraph_reflexion.lab.run_settings import RunSettings
from langgraph_reflexion.loop.heuristic import Heuristic
from langgraph_reflexion.loop.profiles import PROFILES
from langgraph_reflexion.models.usage import Price
from langgraph_reflexion.support.retries import Retries


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: lr.Budget(tokens="100"), "Budget.tokens"),
        (lambda: lr.Budget(seconds=float("nan")), "seconds"),
        (lambda: lr.Budgets(run=100), "Budgets.run"),
        (lambda: Price(-1, 0), "at least 0"),
        (lambda: lr.Memory(size=3, keep="full"), "Memory.size"),
        (lambda: lr.Memory(lessons="lessons.db"), "Memory.lessons"),
        (lambda: lr.ModelOptions(seed="1"), "ModelOptions.seed"),
        (lambda: Heuristic(max_cycles=0), "Heuristic.max_cycles"),
        (lambda: Retries(first_wait=-1), "Retries.first_wait"),
        (lambda: replace(PROFILES["paper"], heuristic=30), "Profile.heuristic"),
        (lambda: CommandEvaluator(["pytest"]), "CommandEvaluator.command"),
        (lambda: lr.WrappedAgent("agent"), "WrappedAgent.agent"),
        (lambda: lr.ReflexionMiddleware(evaluator="llm", model=5), "ReflexionMiddleware.model"),
        (lambda: RunSettings.read({"environment": "x", "budgets": {"run": {"tokens": "5"}}}), "budgets.run.tokens"),
    ],
)
def test_a_wrong_argument_is_named(make, named):
    with pytest.raises(lr.ConfigurationError, match=named):
        make()


@pytest.mark.parametrize(
    ("source", "hint"),
    [
        ({"url": "file:///clone", "dir_info": {}}, "in the clone: pip install '.[gym]'"),
        (None, "(pip install 'langgraph-reflexion[gym]')"),
        (
            {"url": "file:///x.whl", "archive_info": {}},
            "pip install 'langgraph-reflexion[gym] @ file:///x.whl'",
        ),
        (
            {"url": "https://host.example/x.git", "vcs_info": {"vcs": "git", "commit_id": "4b1d"}},
            "pip install 'langgraph-reflexion[gym] @ git+https://host.example/x.git@4b1d'",
        ),
    ],
)
def test_a_hint_at_an_extra_fits_how_the_package_was_installed(source, hint, tmp_path):
    installed = tmp_path / "langgraph_reflexion-0.2.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: langgraph-reflexion\nVersion: 0.2.0\n")
    if source:
        (installed / "direct_url.json").write_text(json.dumps(source))
    script = "from langgraph_reflexion.errors import the_extra; print(the_extra('gym'))"
    found_first = f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    environment = os.environ | {"PYTHONPATH": found_first}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, env=environment)
    assert hint in done.stdout
