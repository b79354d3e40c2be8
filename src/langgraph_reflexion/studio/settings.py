"""The form of an assistant's settings: those of `ReflexionSettings` that belong to a node, as Studio draws them.

API keys are not settings: the server reads them from its environment, and its API never returns them.
"""

import os
from collections.abc import Collection, Mapping, Sequence
from functools import reduce
from operator import or_
from types import MappingProxyType
from typing import Annotated, Any, Literal, TypeVar, cast, get_args

import httpx
from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from langgraph_reflexion.actors import ACTORS
from langgraph_reflexion.envs.base import Environment
from langgraph_reflexion.envs.tested import Tested
from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.models.secrets import public_url
from langgraph_reflexion.nodes.approval import Approval
from langgraph_reflexion.profiles import Profile, load_profile
from langgraph_reflexion.prompts import Prompts, load_prompts
from langgraph_reflexion.settings import ReflexionSettings, describe

ALLOWED = "LANGGRAPH_REFLEXION_BASE_URLS"
"""The environment variable that lists the model servers that a setting may name, besides those on this machine."""
SERVER_NOTES = {
    "model": " The server reads its key from its environment.",
    "base_url": f" It is on this machine, or listed in the server's {ALLOWED}.",
}
"""What a description adds on a server."""
PROMPTS = {
    "act": ("act", "The Jinja template of the actor's prompt."),
    "reflect": ("reflect", "The Jinja template of the prompt that asks for a reflection."),
    "judge": ("evaluate", "The Jinja template of the prompt that asks a model to judge."),
}
"""The templates that can be edited: their nodes and descriptions. The setting of `act` is `act_prompt`."""
LONGEST_PROMPT = 50_000
"""Characters that an edited prompt may have."""
_M = TypeVar("_M", bound=BaseModel)


def setting(default: Any, description: str, node: str, *, prompt: bool = False, **limits: Any) -> Any:
    """Declare a field as Studio draws it: beside a node, with its description.

    Args:
        default: Its value unless set.
        description: One sentence.
        node: The node.
        prompt: Whether it is a prompt.
        **limits: The values it may have, as in `pydantic.Field`.
    """
    shown: dict[str, Any] = {"langgraph_nodes": [node]} | ({"langgraph_type": "prompt"} if prompt else {})
    return Field(default, description=description, json_schema_extra=shown, **limits)


class SettingsForm(BaseModel):
    """The settings of an assistant. `settings_form` makes a subclass with the fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def reflexion(self) -> ReflexionSettings:
        """Return the settings of the graph. A text that is left empty counts as not given.

        Raises:
            ConfigurationError: a value is wrong, or the model server is not allowed.
        """
        shown = self.model_dump(include=set(ReflexionSettings.model_fields))
        if shown.get("memory") == "full":  # the form shows a size all the same
            del shown["memory_size"]
        given = ReflexionSettings.read({name: value for name, value in shown.items() if value != ""})
        check_address(given.base_url)
        return given

    def approval(self, actions: Collection[str] = ()) -> Approval:
        """Return where the graph pauses.

        Args:
            actions: The actions that this actor knows; another actor of the environment may know more.
        """
        named = [name for name in getattr(self, "approve_actions", ()) if name in actions]
        return Approval(actions=named, reflections=cast(Any, self).approve_reflections)

    def prompts(self, base: Prompts) -> Prompts:
        """Return the prompts with the templates that were edited.

        Args:
            base: The actor's prompts, which may differ from those that the form shows.

        Raises:
            ConfigurationError: an edited template is wrong.
        """
        edited = {}
        for name in PROMPTS:
            field = type(self).model_fields.get(f"{name}_prompt")
            text = getattr(self, f"{name}_prompt").strip() if field else ""
            if field and text not in ("", field.default.strip()):
                edited[name] = text
        prompts = Prompts(base.folder, edited) if edited else base
        prompts.preload()
        return prompts


def settings_form(
    name: str,
    defaults: Mapping[str, Any],
    *,
    choices: Mapping[str, Sequence[str]] = MappingProxyType({}),
    without: Collection[str] = (),
    **more: Any,
) -> type[SettingsForm]:
    """Make the form: a field for each setting that `ReflexionSettings` declares with a node.

    Args:
        name: The name of the class.
        defaults: The defaults that differ from those declared.
        choices: The words that a setting is limited to here.
        without: The settings that do not apply.
        **more: Further fields.
    """
    fields: dict[str, Any] = {}
    for setting_name, declared in ReflexionSettings.model_fields.items():
        node = declared.json_schema_extra["node"] if isinstance(declared.json_schema_extra, dict) else ""
        if not node or setting_name in without:
            continue
        given = words(choices[setting_name]) if setting_name in choices else required(declared.annotation)
        for limit in declared.metadata:
            given = Annotated[given, limit]
        default = defaults.get(setting_name, "" if declared.default is None else declared.default)
        # The hint at the default of the command line is not for a form, which shows its own.
        description = (declared.description or "").partition("  [default:")[0] + SERVER_NOTES.get(setting_name, "")
        fields[setting_name] = (given, setting(default, description, str(node)))
    pause = setting(False, "Pause for a person after each reflection.", "reset")
    fields["approve_reflections"] = (bool, pause)
    made: type[SettingsForm] = create_model(name, __base__=SettingsForm, **fields, **more)
    made.__doc__ = "The settings of the graph."
    return made


def environment_form(environment: type[Environment], **more: Any) -> type[SettingsForm]:
    """Make the form of an environment's graph. Its defaults are those of the paper in this environment.

    Args:
        environment: The environment's class.
        **more: Further fields.
    """
    rules = load_profile("paper").resolve(environment.name)
    scored = "self-tests" if issubclass(environment, Tested) else "environment"
    actions: Any = words(list(environment.episode.actions()))
    return settings_form(
        f"{environment.__name__}Settings",
        defaults_of(rules),
        choices={
            "actor": [*ACTORS, *environment.variants],
            "evaluator": [scored, "llm", "self-consistency", "none"],
        },
        approve_actions=(list[actions], setting([], "Pause for a person before these actions.", "observe")),
        **more,
        **prompt_fields(shown_prompts(environment, rules.actor)),
    )


def defaults_of(rules: Profile) -> dict[str, Any]:
    """Return a resolved profile's values by the names of the settings."""
    return {**vars(rules), **vars(rules.heuristic)}


def shown_prompts(environment: type[Environment], actor: str) -> Prompts:
    """Return the prompts that the form shows: those of the actor that acts by default."""
    folder = load_prompts(environment.name).folder
    own = folder / actor if folder and actor in environment.variants else None
    return load_prompts(own) if own else load_prompts(environment.name)


def prompt_fields(prompts: Prompts, names: Collection[str] = tuple(PROMPTS)) -> dict[str, Any]:
    """Return a field for each template that can be edited.

    Args:
        prompts: The templates that are the defaults.
        names: Those of `PROMPTS` to include.
    """
    fields = {}
    for name in names:
        node, description = PROMPTS[name]
        field = setting(prompts.text(name), description, node, prompt=True, max_length=LONGEST_PROMPT)
        fields[f"{name}_prompt"] = (str, field)
    return fields


def required(annotation: Any) -> Any:
    """Return a type without None. A form shows the value that holds unless set, or an empty text."""
    kinds = get_args(annotation)
    return reduce(or_, (each for each in kinds if each is not type(None))) if type(None) in kinds else annotation


def words(names: Sequence[str]) -> Any:
    """Return the type of these words."""
    return Literal[tuple(names)]


def check_address(base_url: str | None) -> None:
    """Refuse a model server that a setting may not name.

    The server's key is sent there, so whoever may write settings must not choose freely.

    Raises:
        ConfigurationError: the address is not allowed, or contains a password.
    """
    if not base_url:
        return
    try:
        # Parsed as the providers' clients parse it: the host that is checked is the one that is called.
        shown, host = public_url(base_url), httpx.URL(base_url).host
    except (ValueError, httpx.InvalidURL) as error:
        raise ConfigurationError(f"base_url: not an address: {error}") from None
    if shown != base_url:
        raise ConfigurationError("base_url: a setting must not contain a user, a password or a query")
    listed = [each.strip().rstrip("/") for each in os.environ.get(ALLOWED, "").split(",")]
    if host not in ("localhost", "127.0.0.1", "::1") and base_url.rstrip("/") not in listed:
        raise ConfigurationError(
            f"base_url: {shown} is not on this machine: allow it in the server's environment, {ALLOWED}={shown}"
        )


def validate(model: type[_M], given: Mapping[str, Any], what: str) -> _M:
    """Return what was filled in.

    Args:
        model: The form.
        given: The values by field.
        what: What an error calls a field.

    Raises:
        ConfigurationError: a field is unknown or its value is wrong. The message names all of them.
    """
    try:
        return model.model_validate(given)
    except ValidationError as error:
        raise ConfigurationError("; ".join(describe(each, what) for each in error.errors())) from None
