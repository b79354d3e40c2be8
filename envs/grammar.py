"""The grammar of an environment: its actions as tools, as text forms, and read from a model's reply."""

from collections.abc import Mapping
from typing import Any

from langgraph_reflexion.envs.actions import Action, ActionSpec, ShownAction
from langgraph_reflexion.envs.base import Environment, Task
from langgraph_reflexion.envs.protocols import SupportsActionForms, SupportsEquivalent, SupportsParse
from langgraph_reflexion.errors import ConfigurationError


def tool_schemas(environment: Environment) -> list[dict[str, Any]]:
    """Return the actions as tool schemas for a chat model."""
    schemas = []
    for spec in environment.actions().values():
        schemas.append({"type": "function", "function": spec.function})
    return schemas


def action_forms(environment: Environment, task: Task) -> list[str]:
    """Return the text forms of a task's actions, one for each action; see `SupportsActionForms`."""
    if isinstance(environment, SupportsActionForms):
        return environment.action_forms(task)
    return [spec.forms[0] for spec in environment.actions().values()]


def shown_actions(environment: Environment, task: Task) -> list[ShownAction]:
    """Return a task's actions for a prompt: each form with the descriptions of the action and of its arguments.

    An argument that several actions share is explained at the first of them.

    Raises:
        ConfigurationError: `action_forms` has more or fewer forms than there are actions.
    """
    forms = action_forms(environment, task)
    specs = list(environment.actions().values())
    if len(forms) != len(specs):
        raise ConfigurationError(
            f"{environment.name}.action_forms() gives {len(forms)} forms for {len(specs)} actions: give one for each"
        )
    shown = []
    explained: set[str] = set()
    for form, spec in zip(forms, specs, strict=True):
        arguments = []
        for name, explanation in spec.explained().items():
            if "{" + name + "}" in form and explanation not in explained:
                arguments.append(explanation)
        explained.update(arguments)
        sentences = [_sentence(each) for each in (spec.description, "; ".join(arguments), spec.note) if each]
        shown.append(ShownAction(form, " ".join(sentences)))
    return shown


def parse_action(environment: Environment, text: str) -> Action | None:
    """Read an action written as text; return None if it is not an allowed one. See `SupportsParse`."""
    if isinstance(environment, SupportsParse):
        return environment.parse(text)
    return parse_forms(environment.actions(), text)


def parse_forms(actions: Mapping[str, ActionSpec], text: str) -> Action | None:
    """Read an action written in one of the text forms of some actions; return None if none matches."""
    written = text.strip()
    for spec in actions.values():
        args = spec.read(written)
        if args is not None:
            return Action(name=spec.name, args=args, text=written)
    return None


def read_call(environment: Environment, name: Any, args: Any) -> Action | None:
    """Read an action given by its name and arguments; return None if it is not an allowed one."""
    if not isinstance(name, str):
        return None
    spec = environment.actions().get(name)
    if spec is None:
        return None
    try:
        given = spec.dump(args)
    except ValueError:
        return None
    return Action(name=name, args=given, text=spec.render(given))


def equivalent(environment: Environment, one: Action, other: Action) -> bool:
    """Return whether two actions mean the same; their texts are ignored. See `SupportsEquivalent`."""
    if isinstance(environment, SupportsEquivalent):
        return environment.equivalent(one, other)
    return same_call(one, other)


def same_call(one: Action, other: Action) -> bool:
    """Return whether two actions have the same name and arguments."""
    return one["name"] == other["name"] and one["args"] == other["args"]


def _sentence(text: str) -> str:
    """Return a text with a full stop, unless it ends with a mark of its own."""
    if text.endswith((".", "!", "?")):
        return text
    return f"{text}."
