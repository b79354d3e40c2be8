"""An environment played by a person in the terminal."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from langgraph_reflexion.envs.base import Action, Environment, Task
from langgraph_reflexion.errors import ConfigurationError, EnvironmentFault
from langgraph_reflexion.prompts import load_prompts

HELP = "Type an action, `help` for the actions, `quit` to leave."


def choose_task(environment: Environment, split: str | None, wanted: str | None) -> Task:
    """Return a task by its id, or by its number counted from 1.

    Raises:
        ConfigurationError: there is no such task.
    """
    tasks = environment.tasks(split)
    named = {str(number): task for number, task in enumerate(tasks, 1)} | {task["id"]: task for task in tasks}
    if chosen := named.get(wanted or "1"):
        return chosen
    raise ConfigurationError(
        f"{environment.name} has no task {wanted or 1!r} here: give an id, or a number from 1 to {len(tasks)}"
    )


def play_episode(environment: Environment, task: Task, lines: Iterable[str]) -> Iterable[str]:
    """Play an episode with the lines that a person types; yield what it shows, the opening first.

    Raises:
        EnvironmentFault: the environment failed.
    """
    forms = "Actions: " + "; ".join(environment.action_forms(task)) + "."
    with _faults(environment):
        episode = environment.start(Task(**{**task, "prepared": environment.prepare(task)}))
    try:
        prompts = load_prompts(environment.prompts or environment.name)
        opening = prompts.opening(task["instruction"], episode.observation)
        yield f"{opening}\n\n{forms}\n{HELP}"
        actions = 0
        for line in lines:
            text = line.strip()
            if text == "quit":
                return
            if text == "help":
                yield f"{forms}\n{HELP}"
            elif text:
                actions += 1
                action = environment.parse(text) or Action(name="", args={}, text=text)
                with _faults(environment):
                    result = episode.step(action)
                yield result.observation
                if result.terminated or result.truncated:
                    won = result.reward is not None and result.reward >= 1.0
                    how = "won" if won else "lost" if result.terminated else "reached the environment's limit"
                    yield f"You {how} after {actions} action{'s' * (actions != 1)}."
                    return
    finally:
        episode.close()


@contextmanager
def _faults(environment: Environment) -> Iterator[None]:
    try:
        yield
    except OSError as error:  # any other exception is a bug
        raise EnvironmentFault(f"{environment.name} failed: {type(error).__name__}: {error}") from error
