"""ALFWorld's commands as actions."""

from dataclasses import replace
from typing import Annotated

from langgraph_reflexion.envs.actions import invalid_action
from langgraph_reflexion.envs.alfworld.engine import NOTHING, PUT_FORMS, Engine, Syntax
from langgraph_reflexion.envs.base import Action, Episode, StepResult, action

Object = Annotated[str, 'name and number of an object, such as "mug 1"']
Receptacle = Annotated[str, 'name and number of a receptacle, such as "cabinet 3"']

_BANNER = "-= Welcome to TextWorld, ALFRED! =-"
_OVER = "The episode is over: no further action is possible."


def tidy(text: str) -> str:
    """Return text in lower case, with single blanks and without a full stop at its end."""
    return " ".join(text.lower().split()).rstrip(" .")


def plain_name(text: str) -> str:
    """Return the engine's name of a thing, from a model's ("The Mug 1.")."""
    return tidy(text).removeprefix("the ")


class ALFWorldEpisode(Episode):
    """One attempt at a game.

    Args:
        engine: The live game; the episode resets and closes it.
        syntax: The game's command for setting an object down; the episode accepts both.
        max_steps: Number of commands after which the episode is truncated. Invalid actions do not count.
        strict: Whether an invalid action is answered with "Nothing happens.", and not explained.
    """

    def __init__(self, engine: Engine, syntax: Syntax = "move", max_steps: int = 50, *, strict: bool = False) -> None:
        self._engine = engine
        self._put = PUT_FORMS[syntax]
        self._left = max_steps
        self._strict = strict
        self._terminated = False
        self._truncated = False
        self.observation = engine.reset().removeprefix(_BANNER).strip()

    def step(self, action: Action) -> StepResult:
        """Take one action; see `Episode.step`. The reward is 1.0 while the goal holds, otherwise 0.0."""
        if self._terminated or self._truncated:
            result = StepResult(_OVER, terminated=self._terminated, truncated=self._truncated)
        else:
            result = super().step(action)
        # Also for an invalid action, which leaves the goal as it was.
        return replace(result, reward=float(self._engine.won))

    def invalid(self, why: str) -> str:
        if self._strict:
            return NOTHING
        return invalid_action(why, game_forms(self._put))

    def close(self) -> None:
        self._engine.close()

    @action("go to {receptacle}")
    def go_to(self, receptacle: Receptacle) -> StepResult:
        """Go to a receptacle and see what is on it, or in it if it is open."""
        return self._execute(f"go to {plain_name(receptacle)}")

    @action("take {object} from {receptacle}")
    def take(self, object: Object, receptacle: Receptacle) -> StepResult:
        """Take an object from the receptacle where you are; you can carry one object."""
        return self._execute(f"take {plain_name(object)} from {plain_name(receptacle)}")

    @action(*PUT_FORMS.values(), "put {object} in {receptacle}", "put {object} on {receptacle}")
    def put(self, object: Object, receptacle: Receptacle) -> StepResult:
        """Put the object that you carry in or on the receptacle where you are."""
        command = self._put.format(object=plain_name(object), receptacle=plain_name(receptacle))
        return self._execute(command)

    @action("open {receptacle}")
    def open(self, receptacle: Receptacle) -> StepResult:
        """Open the receptacle where you are and see what is in it."""
        return self._execute(f"open {plain_name(receptacle)}")

    @action("close {receptacle}", name="close")
    def close_receptacle(self, receptacle: Receptacle) -> StepResult:
        """Close the receptacle where you are."""
        return self._execute(f"close {plain_name(receptacle)}")

    @action("use {object}")
    def use(self, object: Annotated[str, 'name and number of a lamp, such as "desklamp 1"']) -> StepResult:
        """Turn on a lamp at the place where you are."""
        return self._execute(f"use {plain_name(object)}")

    @action("clean {object} with {receptacle}")
    def clean(self, object: Object, receptacle: Receptacle) -> StepResult:
        """Clean the object that you carry with the sink or the bathtub where you are."""
        return self._execute(f"clean {plain_name(object)} with {plain_name(receptacle)}")

    @action("heat {object} with {receptacle}")
    def heat(self, object: Object, receptacle: Receptacle) -> StepResult:
        """Heat the object that you carry with the microwave where you are."""
        return self._execute(f"heat {plain_name(object)} with {plain_name(receptacle)}")

    @action("cool {object} with {receptacle}")
    def cool(self, object: Object, receptacle: Receptacle) -> StepResult:
        """Cool the object that you carry with the fridge where you are."""
        return self._execute(f"cool {plain_name(object)} with {plain_name(receptacle)}")

    @action("slice {object} with {knife}")
    def slice(
        self, object: Object, knife: Annotated[str, 'name and number of the knife that you carry ("knife 1")']
    ) -> StepResult:
        """Slice an object where you are with the knife that you carry."""
        return self._execute(f"slice {plain_name(object)} with {plain_name(knife)}")

    @action("examine {target}")
    def examine(
        self, target: Annotated[str, "name and number of a receptacle or object where you are"]
    ) -> StepResult:
        """Look closely at a receptacle or an object where you are."""
        return self._execute(f"examine {plain_name(target)}")

    @action("look")
    def look(self) -> StepResult:
        """Look around."""
        return self._execute("look")

    @action("inventory")
    def inventory(self) -> StepResult:
        """See what you carry."""
        return self._execute("inventory")

    def _execute(self, command: str) -> StepResult:
        observation = self._engine.step(command)
        self._left -= 1
        self._terminated = self._engine.won
        self._truncated = self._left <= 0 and not self._terminated
        return StepResult(observation, terminated=self._terminated, truncated=self._truncated)


def game_forms(put: str) -> list[str]:
    """Return the forms of all actions, given that of setting an object down."""
    forms = []
    for spec in ALFWorldEpisode.actions().values():
        if spec.name == "put":
            forms.append(put)
        else:
            forms.append(spec.forms[0])
    return forms
