import pytest

from langgraph_reflexion.envs.alfworld.environment import ALFWorld
from langgraph_reflexion.testing.conformance import CHECKS, Case


@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS)
def test_alfworld_conforms(check):
    environment = ALFWorld(max_steps=6)
    task = next(task for task in environment.tasks() if task["kind"] == "clean")
    solution = [environment.parse(command) for command in environment.game(task).walkthrough]
    check(Case.of(environment, task=task, actions=[*solution[:2], "look", "go to nowhere 1"], limit=6))
