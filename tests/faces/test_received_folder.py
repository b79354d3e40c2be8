"""A run folder from somebody else: `report` and `show` run none of what it names."""

import json
import os
import shutil

import pytest

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.lab.experiments.comparison import compare
from langgraph_reflexion.lab.experiments.page import write_page
from langgraph_reflexion.lab.experiments.runner import run
from langgraph_reflexion.lab.experiments.runs import read_run, read_runs
from langgraph_reflexion.lab.experiments.trials import trials_of_run
from langgraph_reflexion.lab.run_settings import RunSettings
from tests.faces.experiments.test_resume import timeless
from tests.support.cli import KEY, call, home, run_args, server
from tests.support.poison import edit, folder_made, poisons

pytestmark = pytest.mark.slow

__all__ = ["folder_made", "home", "server"]  # fixtures


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
    wrong = "trials.jsonl, line 1: measures.f1 must be a valid number or a valid boolean, not 'high'"
    with pytest.raises(ConfigurationError, match=wrong):
        compare([received])


@pytest.mark.parametrize("name", ["run.json", "trials.jsonl", "prompts.jsonl"])
def test_a_link_in_the_folder_leads_to_no_file_elsewhere(received, tmp_path, name):
    moved = (received / name).rename(tmp_path / name)
    (received / name).symlink_to(moved)
    with pytest.raises(ConfigurationError, match=f"{name} is a link"):
        compare([received])


@pytest.mark.parametrize("name", ["run.json", "trials.jsonl", "prompts.jsonl"])
def test_a_pipe_in_the_folder_does_not_keep_a_reader_waiting(received, name):
    (received / name).unlink()
    os.mkfifo(received / name)
    with pytest.raises(ConfigurationError, match=f"{name} is not an ordinary file"):
        compare([received])


def test_a_folder_of_runs_is_read_without_following_its_links(received, tmp_path):
    whole = tmp_path / "whole"
    shutil.copytree(received, whole / "mine")
    (whole / "theirs").symlink_to(received)
    runs, left_out = read_runs([whole])
    assert [run.folder.name for run in runs] == ["mine"]
    assert "theirs is a link" in left_out[0]


def test_the_names_of_strategies_are_printed_without_their_effect(received):
    change(received, strategy="\x1b[31mred")
    assert "\x1b" not in compare([received]).groups[0].label


def test_a_run_with_a_poisoned_cache_says_so_and_can_be_resumed_without_it(folder_made, home, server):
    args = run_args(server, "--cache", "replies.db", "--max-trials", "3")
    assert call(home, *args, "--out", "first", key=KEY)[0] == 0
    edit(home / "replies.db", "UPDATE cache SET encoding = ?, val = ?", poisons(folder_made)["one argument"])
    status, out, err = call(home, *args, "--out", "second", key=KEY)
    assert status == 1
    assert "the cached replies in replies.db hold a value that would call os.mkdir" in out + err
    assert not folder_made.exists()
    (home / "replies.db").unlink()
    status, _, err = call(home, "resume", "second", key=KEY)
    assert (status, err) == (0, "")
    assert timeless(home / "second") == timeless(home / "first")


def test_resume_runs_the_code_that_a_folder_names_and_report_and_show_do_not(folder_made, home, server):
    assert call(home, *run_args(server, "--limit", "2", "--max-trials", "2", "--out", "run"), key=KEY)[0] == 0
    module = home / "toys" / "guessing.py"
    module.write_text(f"import os\nos.mkdir({str(folder_made)!r})\n{module.read_text()}")
    for command in (["report", "run"], ["show", "run"], ["show", "run", "1", "--trial", "1"]):
        assert call(home, *command)[0] == 0
        assert not folder_made.exists(), command
    assert call(home, "resume", "run", key=KEY)[0] == 0
    assert folder_made.is_dir()
