"""The form that Studio draws of an assistant's settings.

The settings are those of `ReflexionSettings` that belong to a node. API keys are not settings: the server reads them
from its environment, and its API never returns them.
"""

import os
from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Any, Literal, cast, get_args

from pydantic import BaseModel, ConfigDict, Field, create_model
from pydantic.fields import FieldInfo

from langgraph_reflexion.actors import ACTORS
from langgraph_reflexion.envs.base import Environment
from langgraph_reflexion.envs.protocols import SupportsGoOn, actors_of
from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.evaluators.judges import AnsweredEnvironment
from langgraph_reflexion.evaluators.rubric import Rubric
from langgraph_reflexion.evaluators.self_tests import ProgramEnvironment
from langgraph_reflexion.lab.declared import extra
from langgraph_reflexion.lab.demo import DemoChatModel
from langgraph_reflexion.lab.in_turn import model_names
from langgraph_reflexion.lab.settings import ReflexionSettings
from langgraph_reflexion.loop.profiles import Rules, load_profile
from langgraph_reflexion.models.load import in_file
from langgraph_reflexion.nodes.approval import Approval
from langgraph_reflexion.prompts import Prompts, load_prompts
from langgraph_reflexion.support.choices import Strategy
from langgraph_reflexion.support.secrets import public_url

# A server's clients are strangers: the development server has no login, and any web page may call it. So a setting,
# an input or a state names nothing of the host, and no address, unless whoever started the server has listed it.
ALLOWED = "LANGGRAPH_REFLEXION_BASE_URLS"
"""The environment variable that lists the model servers that a setting may name, separated by commas."""
ALLOWED_PAGES = "LANGGRAPH_REFLEXION_PAGES"
"""The environment variable that lists the sources of pages in the network that a setting may name."""
WORKSPACE = "LANGGRAPH_REFLEXION_WORKSPACE"
"""The environment variable that names the task file whose tasks the graph `workspace` has, in place of its own."""
HOSTED = {
    "anthropic",
    "azure_ai",
    "azure_openai",
    "bedrock",
    "bedrock_converse",
    "cohere",
    "deepseek",
    "fireworks",
    "google_genai",
    "google_vertexai",
    "groq",
    "mistralai",
    "nvidia",
    "openai",
    "openrouter",
    "perplexity",
    "together",
    "upstage",
    "xai",
}
"""Providers that a setting may name by themselves, as they have an address of their own in the network. Others run in
this process, or at an address of this machine."""
PROMPTS = {
    "act": ("act", "The Jinja template of the actor's prompt."),
    "reflect": ("reflect", "The Jinja template of the prompt that asks for a reflection."),
    "judge": ("evaluate", "The Jinja template of the prompt that asks a model to judge."),
}
"""The templates that can be edited: their nodes and descriptions. The setting of `act` is `act_prompt`."""


def setting(default: Any, node: str, description: str, **shown: str) -> Any:
    """Declare a field that Studio draws beside a node."""
    # Studio reads these keys of a field's JSON schema.
    for_studio: dict[str, Any] = {"langgraph_nodes": [node]}
    for_studio.update(shown)
    return Field(default, description=description, json_schema_extra=for_studio)


def words(names: Sequence[str]) -> Any:
    """Return a type whose values are these words."""
    return Literal[tuple(names)]


LOCAL_PAGES = "corpus"
"""The source of pages that needs no network."""
_PAGES = (
    words([LOCAL_PAGES, "wikipedia"]),
    setting(LOCAL_PAGES, "observe", "The pages to search: the project's own invented ones, or the live Wikipedia."),
)
NAMED_MODEL = (
    "PROVIDER:MODEL, such as openai:gpt-4o-mini. Without a key: `ollama pull qwen2.5-coder:1.5b`, here "
    "openai:qwen2.5-coder:1.5b, and http://localhost:11434/v1 as base_url."
)
"""The model's description where the demo model cannot play."""
EVALUATORS = {
    "environment": "`environment` knows the truth.",
    "meaning": "`meaning` compares the answer with the right one by meaning.",
    "self-tests+given": "`self-tests+given` adds the tests that come with a problem.",
}
"""What a form says of some evaluators, beyond their names."""
CRITERIA = (
    "A goal in words, in place of `evaluator`: a list of criteria. A model judges each, and all have to be met."
)
"""What a form says of the criteria of a rubric."""
OPTIONS: Mapping[str, Mapping[str, Any]] = {"hotpotqa": {"pages": _PAGES}, "fever": {"pages": _PAGES}}
"""The options of environments that are settings, by the environment's name, as fields of a pydantic model."""


class SettingsForm(BaseModel):
    """The settings of an assistant. `settings_form` makes a subclass with the fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def reflexion(self) -> ReflexionSettings:
        """Return the settings of the graph. An empty text counts as not given."""
        shown = self.model_dump(include=set(ReflexionSettings.model_fields))
        if shown.get("memory") == "full":
            # A full memory has no size, but the form always has a value for it.
            del shown["memory_size"]
        filled = {name: value for name, value in shown.items() if value != ""}
        given = ReflexionSettings.read(filled)
        for name in model_names(given.model):
            check_model("model", name, given.base_url)
        check_model("reflection_model", given.reflection_model, given.base_url)
        if given.base_url:
            check_address(given.base_url)
        return given

    def options(self, environment: str) -> dict[str, Any]:
        """Return the options of the environment.

        Raises:
            ConfigurationError: the pages are in a network, and the server does not allow that.
        """
        chosen = {name: getattr(self, name) for name in OPTIONS.get(environment, ())}
        source = chosen.get("pages", LOCAL_PAGES)
        if source != LOCAL_PAGES and source not in listed(ALLOWED_PAGES):
            raise ConfigurationError(
                f"pages: {source} is in the network: allow it in the server's environment, {ALLOWED_PAGES}={source}"
            )
        return chosen

    def approval(self, actions: Collection[str] = ()) -> Approval:
        """Return where the graph pauses.

        Args:
            actions: Those of the chosen actor. The form offers the environment's, some of which it may lack.
        """
        # `settings_form` makes these fields, so this class does not declare them.
        chosen = cast(Any, self)
        named = [name for name in chosen.approve_actions if name in actions]
        return Approval(named, reflections=chosen.approve_reflections, verdicts=chosen.approve_verdicts)

    def rubric(self) -> Rubric | None:
        """Return the evaluator of the criteria that are filled in; None without any.

        Raises:
            ConfigurationError: they are too many or too long.
        """
        # `settings_form` makes this field, so this class does not declare it.
        text = cast(Any, self).criteria.strip()
        if not text:
            return None
        try:
            return Rubric(text)
        except ConfigurationError as error:
            raise ConfigurationError(f"criteria: {error}") from error

    def prompts(self, base: Prompts) -> Prompts:
        """Return the actor's prompts with the templates that were edited."""
        edited = {}
        for name in PROMPTS:
            field = f"{name}_prompt"
            declared = type(self).model_fields[field]
            shipped = declared.default.strip()
            text = getattr(self, field).strip()
            # An empty text counts as not given.
            if text and text != shipped:
                edited[name] = text
        prompts = base
        if edited:
            prompts = Prompts(base.folder, edited)
        prompts.preload()
        return prompts


def settings_form(environment: type[Environment]) -> type[SettingsForm]:
    """Make the form of an environment's graph; its defaults are the rules of the profile `paper` for the environment.

    It has a field for each setting that `ReflexionSettings` declares with a node, each prompt and each option.
    """
    rules = load_profile("paper").resolve(environment)
    fields = _reflexion_fields(environment, rules)
    actions = words(list(environment.episode.actions()))
    fields["approve_reflections"] = (bool, setting(False, "reset", "Pause for a person after each reflection."))
    fields["approve_verdicts"] = (bool, setting(False, "evaluate", "Pause for a person after each verdict."))
    fields["approve_actions"] = (list[actions], setting([], "observe", "Pause for a person before these actions."))  # type: ignore[valid-type]
    fields["criteria"] = (str, setting("", "evaluate", CRITERIA))
    prompts = _prompts_of(environment, rules.actor)
    for template, (node, description) in PROMPTS.items():
        shown = setting(prompts.text(template), node, description, langgraph_type="prompt")
        fields[f"{template}_prompt"] = (str, shown)
    fields.update(OPTIONS.get(environment.name, {}))
    return create_model(
        f"{environment.__name__}Settings", __base__=SettingsForm, __doc__="The settings of the graph.", **fields
    )


def _reflexion_fields(environment: type[Environment], rules: Rules) -> dict[str, Any]:
    """Return the fields of `ReflexionSettings` that belong to a node, with an environment's rules as defaults."""
    evaluators = _evaluators(environment, rules.evaluator)
    kinds = {
        "actor": words([*ACTORS, *actors_of(environment)]),
        "evaluator": words(evaluators),
        "strategy": words(_strategies(environment)),
    }
    descriptions = {"evaluator": _described(evaluators)}
    defaults = dict(vars(rules))
    defaults.update(vars(rules.heuristic))
    fields: dict[str, Any] = {}
    for name, declared in ReflexionSettings.model_fields.items():
        node = extra(declared, "node")
        if not node:
            continue
        if name == "model" and environment.name not in DemoChatModel.worlds:
            # No default can be played here: the field begins empty, and says what to fill in.
            fields[name] = (str, setting("", node, NAMED_MODEL))
            continue
        default = defaults.get(name, _default_shown(declared))
        kind = kinds.get(name, _kind_shown(declared))
        # A client may send the whole form back. An empty text counts as not given, so no limit may refuse it.
        if default != "":
            kind = _limited(kind, declared.metadata)
        # The description may end with the default of the command line; a form shows its own.
        declared_as = declared.description or ""
        about, _, _ = declared_as.partition("  [default:")
        description = descriptions.get(name, about)
        fields[name] = (kind, setting(default, node, description))
    return fields


def _default_shown(declared: FieldInfo) -> Any:
    """Return the default of a field that a form shows: an empty text in place of None."""
    if declared.default is None:
        return ""
    return declared.default


def _kind_shown(declared: FieldInfo) -> Any:
    """Return the type of a field's values in a form, which has no None."""
    kinds = get_args(declared.annotation)
    if type(None) in kinds:
        # The settings declare it as `KIND | None`.
        return kinds[0]
    return declared.annotation


def _limited(kind: Any, limits: Sequence[Any]) -> Any:
    """Return a type with the limits of its values."""
    for limit in limits:
        kind = Annotated[kind, limit]
    return kind


def _described(evaluators: Sequence[str]) -> str:
    """Return what the form says of the evaluators."""
    sentences = ["Scores each trial."]
    for name in evaluators:
        if name in EVALUATORS:
            sentences.append(EVALUATORS[name])
    return " ".join(sentences)


def _prompts_of(environment: type[Environment], actor: str) -> Prompts:
    """Return the prompts of an environment, or those of the actor if it is the environment's own."""
    prompts = load_prompts(environment.name)
    if prompts.folder and actor in actors_of(environment):
        return load_prompts(prompts.folder / actor)
    return prompts


def _evaluators(environment: type[Environment], default: str) -> list[str]:
    """Return the evaluators for an environment's trials, its default first."""
    names = [default]
    if issubclass(environment, AnsweredEnvironment):
        names.append("meaning")
    if issubclass(environment, ProgramEnvironment):
        names.append("self-tests+given")
    return [*names, "llm", "self-consistency", "none"]


def _strategies(environment: type[Environment]) -> list[str]:
    """Return the strategies for an environment's trials, which may not be able to go on."""
    goes_on = issubclass(environment, SupportsGoOn)
    return [strategy.value for strategy in Strategy if goes_on or not strategy.continues]


def listed(variable: str) -> list[str]:
    """Return what an environment variable lists, separated by commas."""
    parts = os.environ.get(variable, "").split(",")
    return [part.strip() for part in parts if part.strip()]


def server_options(environment: str) -> dict[str, Any]:
    """Return the options of an environment that the server's own environment sets."""
    file = os.environ.get(WORKSPACE, "").strip()
    if environment == "workspace" and file:
        return {"task": file}
    return {}


def check_model(field: str, name: str | None, base_url: str | None) -> None:
    """Refuse a model that a setting must not name: code, a folder, a download or an address of this machine.

    Args:
        field: The setting.
        name: Its value.
        base_url: The address that is given beside it, which `check_address` checks.

    Raises:
        ConfigurationError: the model is one of these.
    """
    if name is None:
        return
    provider, colon, _ = name.partition(":")
    # A name without a provider, such as gpt-4o-mini, is a hosted provider's model, or the demo model.
    hosted = not colon or provider in HOSTED
    if hosted and not in_file(name):
        return
    # Without an address, Ollama is asked on this machine; `check_address` checks the one that is given.
    if provider == "ollama" and base_url:
        return
    raise ConfigurationError(
        f"{field}: a setting names no code, no folder and no address of the server: give PROVIDER:MODEL of a "
        "provider with an API, such as openai:gpt-4o-mini, or a server that is listed, as base_url"
    )


def check_address(base_url: str) -> None:
    """Refuse a model server that is not listed.

    Whoever may write settings must not choose an address freely: the server's key is sent there, and it may be that
    of another service on this machine.

    Raises:
        ConfigurationError: the address is not allowed, or contains a password.
    """
    try:
        shown = public_url(base_url)
    except ValueError as error:
        raise ConfigurationError(f"base_url: not an address: {error}") from None
    if shown != base_url:
        raise ConfigurationError("base_url: a setting must not contain a user, a password or a query")
    allowed = [each.rstrip("/") for each in listed(ALLOWED)]
    if base_url.rstrip("/") not in allowed:
        raise ConfigurationError(
            f"base_url: {shown} is not listed: allow it in the server's environment, {ALLOWED}={shown}"
        )
