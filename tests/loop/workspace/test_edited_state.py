"""What a graph's state, or a saved folder, says of a workspace is data: it names nothing outside of the workspace."""

import pytest

from langgraph_reflexion.envs.base import Task
from langgraph_reflexion.envs.workspace.environment import Workspace
from langgraph_reflexion.envs.workspace.folder import WorkspaceFolder
from langgraph_reflexion.errors import ConfigurationError
from tests.support.toys import finished
from tests.support.workspace import FAILING, write_folder

TREE = "0" * 39 + "a"


def edited(played, **prepared):
    return Task(**{**played.task, "prepared": {**played.task["prepared"], **prepared}})


@pytest.mark.parametrize(
    "tree", ["--output={out}", "-x", "HEAD", "../../x", "{out}", TREE[:-1], TREE + "\n", 7, None]
)
def test_a_snapshot_names_nothing_but_an_object(play, tmp_path, tree):
    played, out = play(), tmp_path / "out"
    named = tree.format(out=out) if isinstance(tree, str) else tree
    snapshot = {"tree": named, "passed": None, "submitted": False}
    for use in (played.environment.restore, played.environment.patch):
        with pytest.raises(ConfigurationError, match="tree"):
            use(played.task, snapshot)
    with pytest.raises(ConfigurationError, match="tree"):
        played.environment.review(played.task, {**finished(), "snapshot": snapshot})
    assert not out.exists()


@pytest.mark.parametrize("changes", [{"passed": "-x"}, {"submitted": "yes"}])
def test_the_rest_of_a_snapshot_is_checked(play, changes):
    played = play()
    with pytest.raises(ConfigurationError, match=next(iter(changes))):
        played.environment.restore(played.task, {**played.episode.snapshot(), **changes})


@pytest.mark.parametrize(
    "run", ["../../../outside", "/tmp/outside", "-x", "", "0123456789AB", "0123456789ab\n", None]
)
def test_the_folder_of_a_run_is_a_name(play, tmp_path, run):
    played = play()
    before = sorted(tmp_path.iterdir())
    with pytest.raises(ConfigurationError, match="run"):
        played.environment.start(edited(played, run=run))
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    "path", ["..", "../original", "a/../../b", "/etc", "-x", ".", "", "a//b", "./a", "a/", ".git", "a/.git/b", "a\0b"]
)
def test_dependencies_are_folders_inside(play, path):
    played = play()
    with pytest.raises(ConfigurationError, match="dependencies"):
        played.environment.start(edited(played, dependencies=[path]))


def test_a_folder_that_is_no_dependency_is_not_shown_as_one(play, folder):
    """It has what copies leave out, such as a repository's settings."""
    (folder / "lib" / ".git").mkdir(parents=True)
    (folder / "lib" / ".git" / "config").write_text("token")
    played = play()
    episode = played.environment.start(edited(played, dependencies=["lib"]))
    played.episode.close()
    played.episode = episode
    with pytest.raises(ConfigurationError, match="not a folder of installed dependencies"):
        played.do("run_command", command="cat lib/.git/config")


def test_dependencies_behind_a_link_are_not_shown(play, folder, tmp_path):
    private = tmp_path / "private"
    private.mkdir()
    (private / "key").write_text("CANARY")
    (folder / "link").symlink_to(private)
    played = play()
    episode = played.environment.start(edited(played, dependencies=["link"]))
    played.episode.close()
    played.episode = episode
    with pytest.raises(ConfigurationError, match="link"):
        played.do("run_command", command="cat link/key")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("verify", []),
        ("path", "relative"),
        ("path", "/tmp/../etc"),
        ("show", ["relative"]),
        ("network", "yes"),
        ("memory", 0),
        ("timeout", "long"),
        ("unknown", 1),
    ],
)
def test_the_data_of_a_task_is_checked_wherever_it_comes_from(play, field, value):
    played = play()
    task = Task(**{**played.task, "data": {**played.task["data"], field: value}})
    for use in (played.environment.prepare, played.environment.start):
        with pytest.raises(ConfigurationError, match=field):
            use(task)


@pytest.mark.parametrize("name", ["../../x", "-x", "a/b", ""])
def test_the_id_of_a_task_is_a_name(play, name):
    played = play()
    with pytest.raises(ConfigurationError, match="id"):
        played.environment.start(Task(**{**played.task, "id": name}))


@pytest.mark.parametrize("tree", ["--output={out}", "HEAD", None])
def test_a_saved_folder_names_nothing_but_an_object(folder, tmp_path, tree):
    kept = WorkspaceFolder(folder, store=tmp_path / "store")
    named = tree and tree.format(out=tmp_path / "out")
    with pytest.raises(ConfigurationError, match="tree"):
        kept.restore({"tree": named})
    assert not (tmp_path / "out").exists()


def test_an_environment_may_be_confined_to_its_own_tasks(play, folder, tmp_path):
    """As on a server, where strangers write tasks and states."""
    played, other = play(id="mine"), write_folder(tmp_path / "other")
    played.environment.own_tasks_only = True
    data = played.task["data"]
    foreign = [
        {"id": "other", "data": data},
        *({"data": {**data, **change}} for change in ({"path": str(other)}, {"verify": ["id"]}, {"network": True})),
        *({"data": {**data, **change}} for change in ({"show": [str(other)]}, {"env": {"A": "b"}}, {"memory": 9})),
    ]
    for change in foreign:
        task = Task(**{**played.task, **change})
        for use in (played.environment.prepare, played.environment.start):
            with pytest.raises(ConfigurationError, match="not one of the tasks"):
                use(task)
        with pytest.raises(ConfigurationError, match="not one of the tasks"):
            played.environment.restore(task, played.episode.snapshot())
    # What the agent is asked to do there is the client's business.
    played.environment.start(Task(**{**played.task, "instruction": "Tidy up."})).close()


def test_a_caller_in_python_may_name_a_folder(folder, tmp_path):
    """Whoever runs the process is trusted to name folders of their own."""
    environment = Workspace(store=tmp_path / "store")
    [task] = Workspace({**FAILING, "path": folder}).tasks()
    assert environment.prepare(task)["dependencies"] == []
