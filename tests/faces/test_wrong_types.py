"""Run folders in which one value has a wrong type: one clear line from every reader, and nothing lost."""

import json
import random
import shutil

import pytest
from rich.console import Console

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.lab.experiments.comparison import compare, task_lines
from langgraph_reflexion.lab.experiments.page import page
from langgraph_reflexion.lab.experiments.provenance import settings_of
from langgraph_reflexion.lab.experiments.record import RunRecord
from langgraph_reflexion.lab.experiments.runner import run
from langgraph_reflexion.lab.experiments.runs import read_info, read_run
from langgraph_reflexion.lab.experiments.trials import trials_of_run
from langgraph_reflexion.lab.run_settings import RunSettings
from tests.support.cli import home, server
from tests.support.wrong_types import variants

__all__ = ["home", "server"]  # fixtures

FILES = ["run.json", "trials.jsonl", "prompts.jsonl"]
SAMPLE = 30
"""Changes of each file that are tried here; tests/long/experiments/test_wrong_types.py tries them all."""


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    folder = tmp_path_factory.mktemp("real") / "run"
    run(RunSettings(environment="alfworld", limit=3, max_trials=2, strategy="last_attempt_and_reflexion"), folder)
    return folder


def report(folder):
    comparison = compare([folder])
    comparison.print(Console(quiet=True))
    json.dumps(comparison.as_json())
    for _ in page(comparison):
        pass


def show(folder):
    found = read_run(folder)
    task_lines(found, 80)
    for task in found.tasks:
        trials = trials_of_run(found, task)
        trials.print(Console(quiet=True))
        for view in trials.views:
            for place in (1, None):
                try:
                    trials.prompt(view.row["trial"], place).print(Console(quiet=True))
                except ConfigurationError as error:
                    if "was not reflected on" not in str(error) and "no model call" not in str(error):
                        raise


def resume(folder):
    """Do what resuming does with the files of the folder before it asks a model."""
    info = read_info(folder)
    settings_of(info)
    RunRecord(folder, info).close(1.0)


READERS = {"report": report, "show": show, "resume": resume}


def fails_of(folder, file, changes):
    """Return what a reader does with changed files besides reading them and refusing them in one clear line."""
    path = folder / file
    whole = path.read_text()
    fails = []
    for words, text in changes:
        for name, read in READERS.items():
            path.write_text(text)
            try:
                read(folder)
            except ConfigurationError as error:
                said = str(error)
                if "\n" in said or len(said) > 1000:
                    fails.append(f"{name}, {words}: {said}")
            except Exception as error:
                fails.append(f"{name}, {words}: {type(error).__name__}: {error}")
    path.write_text(whole)
    return fails


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES)
def test_a_wrong_type_is_read_or_refused_in_one_line(real, tmp_path, file):
    folder = shutil.copytree(real, tmp_path / "run")
    changes = list(variants((folder / file).read_text()))
    chosen = random.Random(44).sample(changes, min(SAMPLE, len(changes)))
    assert fails_of(folder, file, chosen) == []
