import json
import resource

import pytest

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.lab.experiments.apply import apply_results
from langgraph_reflexion.lab.experiments.provenance import new_info
from langgraph_reflexion.lab.run_settings import RunSettings
from langgraph_reflexion.testing import ScriptedChatModel
from tests.long.workspace.test_kill import reply, task_file
from tests.support.cli import call
from tests.support.model_server import ModelServer
from tests.support.workspace import CODE, state


def test_tasks_that_ship_are_not_patched(tmp_path):
    decided = {"strategy": "retry", "evaluator": "environment", "max_trials": 1}
    settings = RunSettings.read({"environment": "workspace", "split": "own", **decided})
    info = new_info(settings, ["any"])
    (tmp_path / "run.json").write_text(json.dumps(info))
    with pytest.raises(ConfigurationError, match="shared cache: nothing was applied"):
        list(apply_results(tmp_path))


@pytest.mark.needs("bubblewrap")
def test_results_are_applied_on_request_if_they_fit(folder, tmp_path):
    before, run = state(folder), tmp_path / "run"
    file = task_file(folder)

    def ran(*more):
        status, out, err = call(
            tmp_path,
            *("run", "workspace", "--task", str(file), "--store", str(tmp_path / "store"), "--out", "run"),
            *("--model", "openai:toy", "--base-url", server.url, *more),
            key="sk-none",
        )
        assert status == 0, err
        return out

    with ModelServer(ScriptedChatModel(replies=reply)) as server:
        ran("--max-trials", "1")
        assert list(apply_results(run)) == ["No task was solved: nothing was applied."]
        with pytest.raises(ConfigurationError, match="not solved"):
            list(apply_results(run, "mend"))
        assert "1 solved" in ran("--max-trials", "2")
    assert state(folder) == before
    (folder / "code_.py").write_text("x\n")
    with pytest.raises(ConfigurationError, match="does not apply"):
        list(apply_results(run))
    assert not (folder / "log").exists()
    (folder / "code_.py").write_text(CODE)
    patch = run / "task-mend" / "final-output" / "result.patch"
    assert call(tmp_path, "apply", "run", "mend")[:2] == (0, f"{folder}: run/{patch.relative_to(run)} was applied.\n")
    assert "n * 2" in (folder / "code_.py").read_text()
    assert (folder / "log").read_text() == "begun\ndone\nagain\ntrial 2\nend\n"
    assert list(apply_results(run)) == [f"{folder}: {patch} was applied before."]
    with pytest.raises(ConfigurationError, match="no task 'other'"):
        list(apply_results(run, "other"))


def test_results_are_written_completely_or_not_at_all(play, folder, tmp_path):
    (folder / "old").write_text("stays\n" * 20)
    (folder / "docs" / "__pycache__").mkdir(parents=True)
    (folder / "docs" / "page").write_text("a page\n")
    (folder / "docs" / "__pycache__" / "mine").write_text("mine")
    played = play()
    played.do("edit_file", path="code_.py", old="n + 2", new="n * 2")
    played.do(
        "run_command",
        command="echo new > a; mv old renamed; ln -s a link; rm -r docs; echo > docs; yes z | head -c 300000 > z",
    )
    patch = tmp_path / "result.patch"
    patch.write_text(played.patch())
    before, limits = state(folder), resource.getrlimit(resource.RLIMIT_FSIZE)
    # As if the disk were full.
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
    try:
        with pytest.raises(ConfigurationError, match="cannot be written"):
            played.environment.apply(played.task, patch)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert {path: held[3] for path, held in state(folder).items()} == {p: held[3] for p, held in before.items()}
    # A folder with other things in it is to become a file.
    with pytest.raises(ConfigurationError, match="cannot be written"):
        played.environment.apply(played.task, patch)
    (folder / "docs" / "__pycache__" / "mine").unlink()
    (folder / "docs" / "__pycache__").rmdir()
    assert played.environment.apply(played.task, patch).endswith("was applied.")
    assert (folder / "renamed").read_text() == "stays\n" * 20
