"""A run folder from somebody else: `report` and `show` run none of what it names."""

import json
import shutil

import pytest

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.lab.experiments.comparison import compare
from langgraph_reflexion.lab.experiments.page import write_page
from langgraph_reflexion.lab.experiments.record import read_run
from langgraph_reflexion.lab.experiments.runner import run
from langgraph_reflexion.lab.experiments.trials import trials_of_run
from langgraph_reflexion.lab.settings import RunSettings


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    """A run with a memory map, one of whose tasks failed and was reflected on."""
    folder = tmp_path_factory.mktemp("real") / "run"
    run(RunSettings(environment="alfworld", limit=3, max_trials=2, memory_map=True), folder)
    return folder


@pytest.fixture
def received(real, tmp_path):
    return shutil.copytree(real, tmp_path / "run")


@pytest.fixture
def mark(tmp_path):
    return tmp_path / "mark"


def change(folder, **settings):
    info = json.loads((folder / "run.json").read_text())
    info["settings"] |= settings
    (folder / "run.json").write_text(json.dumps(info))


def page(folder):
    write_page(compare([folder]), folder.with_name("page.html"))
    return folder.with_name("page.html").read_text()


def test_a_page_runs_no_environment_that_the_folder_names(received, mark, tmp_path):
    code = tmp_path / "theirs.py"
    code.write_text(f"open({str(mark)!r}, 'w').close()\n")
    change(received, environment=f"{code}:Theirs")
    assert "Trial" in page(received)
    assert not mark.exists()


def test_a_page_opens_no_file_that_an_option_names(received, tmp_path):
    other = {"environment": "hotpotqa", "memory_map": False}
    change(received, **other, options={"path": str(tmp_path / "none")})
    assert "Trial" in page(received)


@pytest.mark.parametrize(("name", "place"), [("act", 1), ("setting", 1), ("failed_trial", None)])
def test_prompts_are_those_that_were_recorded_and_no_template_of_the_folder_is_filled_in(received, mark, name, place):
    task = next(task for task, rows in read_run(received).tasks.items() if rows[0]["reflection"])
    before = repr(trials_of_run(received, task).prompt(1, place))
    file = received / "prompts" / f"{name}.md"
    file.write_text(f"{{{{ cycler.__init__.__globals__.os.system('touch {mark}') }}}}\nAnother template.\n")
    assert repr(trials_of_run(received, task).prompt(1, place)) == before
    assert "Another template." not in page(received)
    assert not mark.exists()


def test_measures_that_are_no_numbers_are_a_clear_error(received):
    rows = [json.loads(line) for line in (received / "trials.jsonl").read_text().splitlines()]
    rows[0]["measures"] = {"f1": "high"}
    (received / "trials.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    with pytest.raises(ConfigurationError, match="measures of trial 1"):
        compare([received])
