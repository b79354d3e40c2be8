"""Application of the patches that solved a workspace's tasks to their folders."""

from collections.abc import Iterator
from pathlib import Path

from langgraph_reflexion.envs.workspace.environment import Workspace
from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.lab.experiments.provenance import settings_of
from langgraph_reflexion.lab.experiments.runs import read_info


def apply_results(folder: Path | str, task: str | None = None) -> Iterator[str]:
    """Apply the patches of a run's solved tasks, or of one, each as a whole or not at all; yield a line about each.

    Raises:
        ConfigurationError: the folder holds a run of another environment, the task was not solved, or its folder has
            changed since.
    """
    folder = Path(folder)
    settings = settings_of(read_info(folder))
    environment = settings.make_environment()
    try:
        if not isinstance(environment, Workspace):
            raise ConfigurationError(
                f"{folder} is a run of {settings.environment}, which changes no files outside it"
            )
        if settings.split != "tasks":
            raise ConfigurationError(
                f"{folder} is a run of built-in tasks ({settings.split}), whose repositories are in a shared "
                f"cache: nothing was applied; the patches are in {folder}/task-*/final-output"
            )
        tasks = [each for each in environment.tasks(settings.split, settings.limit) if task in (None, each["id"])]
        if not tasks:
            raise ConfigurationError(f"{folder} has no task {task!r}")
        applied = False
        for each in tasks:
            patch = folder / f"task-{each['id']}" / "final-output" / "result.patch"
            if patch.exists():
                yield environment.apply(each, patch)
                applied = True
            elif task is not None:
                raise ConfigurationError(f"the task {task} was not solved: {patch} is not there")
        if not applied:
            yield "No task was solved: nothing was applied."
    finally:
        environment.close()
