"""Settings: what an assistant is set to, as typed fields that Studio draws a form of.

Keys are no settings. They are read from the server's environment, and come back through no address of its API.
"""

import os
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal, TypeVar

import httpx
from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from langgraph_reflexion.actors.base import ACTORS
from langgraph_reflexion.envs.base import Environment
from langgraph_reflexion.envs.tested import Tested
from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.models.load import DEMO, load_model
from langgraph_reflexion.models.secrets import public_url
from langgraph_reflexion.profiles import Profile, load_profile
from langgraph_reflexion.prompts import Prompts, load_prompts

ALLOWED = "LANGGRAPH_REFLEXION_BASE_URLS"
"""The environment variable that names the model servers that a setting may name, besides those on this machine."""
PROMPTS = {"act": "act_prompt", "reflect": "reflect_prompt", "judge": "judge_prompt"}
"""The templates that can be edited, and the settings that hold them."""
_M = TypeVar("_M", bound=BaseModel)


def setting(default: Any, title: str, description: str, *nodes: str, prompt: bool = False, **limits: Any) -> Any:
    """A field as Studio shows it.

    Args:
        default: Its value unless set.
        title: What it is called.
        description: What it says, in a sentence.
        *nodes: On which nodes it is shown.
        prompt: Whether it is a prompt.
        **limits: What it may be, as pydantic has it.
    """
    shown: dict[str, Any] = {"langgraph_nodes": list(nodes)} | ({"langgraph_type": "prompt"} if prompt else {})
    return Field(default, title=title, description=description, json_schema_extra=shown, **limits)


class Settings(BaseModel):
    """What every graph can be set to."""

    model_config = ConfigDict(frozen=True)

    model: str = setting(
        DEMO,
        "Model",
        "demo (needs no key, is no LLM), or PROVIDER:MODEL such as openai:gpt-4o-mini. "
        "Its key is read from the server's environment.",
        "act",
        min_length=1,
        max_length=200,
    )
    reflection_model: str = setting(
        "",
        "Reflection model",
        "Reflects and judges; empty for the same model.",
        "reflect",
        "evaluate",
        max_length=200,
    )
    base_url: str = setting(
        "",
        "Base URL",
        "An OpenAI-compatible server, with a model openai:NAME; empty for the provider's own. "
        f"On this machine, or one of those in the server's {ALLOWED}.",
        "act",
        max_length=500,
    )
    memory_size: int = setting(3, "Memory size", "How many reflections are kept.", "reflect", ge=1, le=100)
    max_trials: int = setting(12, "Trials", "After how many trials a task has failed.", "evaluate", ge=1, le=100)
    strategy: Literal["retry", "last_attempt", "reflexion", "last_attempt_and_reflexion"] = setting(
        "reflexion",
        "Strategy",
        "What a retry gets to see: nothing, the last attempt, the reflections, or both.",
        "reset",
    )
    approve_reflections: bool = setting(
        False, "Approve reflections", "Pause for a person after each reflection.", "reset"
    )
    seed: int = setting(
        0, "Seed", "Seeds every model call, and the tasks where they are generated.", "reset", ge=0, le=2**31 - 1
    )

    def prompts(self, base: Prompts) -> Prompts:
        """The prompts with those templates that were edited. One agent's may differ from those that are shown.

        Args:
            base: Where the others come from.

        Raises:
            ConfigurationError: what was written is no template.
        """
        fields = type(self).model_fields
        shown = {name: fields[field].default for name, field in PROMPTS.items() if field in fields}
        given = {name: getattr(self, PROMPTS[name]).strip() for name in shown}
        edited = {name: text for name, text in given.items() if text not in ("", shown[name].strip())}
        prompts = Prompts(base.folder, edited) if edited else base
        prompts.preload()
        return prompts

    def models(self) -> dict[str, Any]:
        """The models, as `create_reflexion` takes them.

        Raises:
            ConfigurationError: there is no such model, its key is missing, or its server is not allowed.
        """
        address = allowed_address(self.base_url)
        made = load_model(self.model, base_url=address)
        named = self.reflection_model
        return {"model": made, "reflection_model": load_model(named, base_url=address) if named else None}


def allowed_address(base_url: str) -> str | None:
    """The address of a model server that a setting may name.

    Whoever may write settings is sent nobody's key by naming a server of theirs.

    Raises:
        ConfigurationError: it is not allowed, or holds a password.
    """
    if not base_url:
        return None
    try:
        # As the providers' clients read it: the host that is checked is the one that is called.
        shown, host = public_url(base_url), httpx.URL(base_url).host
    except (ValueError, httpx.InvalidURL) as error:
        raise ConfigurationError(f"base_url: this is no address: {error}") from None
    if shown != base_url:
        raise ConfigurationError("base_url: no user, password or query belongs into a setting")
    listed = [each.strip().rstrip("/") for each in os.environ.get(ALLOWED, "").split(",")]
    if host not in ("localhost", "127.0.0.1", "::1") and base_url.rstrip("/") not in listed:
        raise ConfigurationError(
            f"base_url: {shown} is not on this machine: name it in the server's environment, {ALLOWED}={shown}"
        )
    return base_url


def settings_of(environment: type[Environment], **more: Any) -> type[Settings]:
    """The settings of the graph of an environment, with the paper's as defaults.

    Args:
        environment: Its class.
        **more: Further fields.
    """
    usual = load_profile("paper").of(environment.name)
    agents = [*ACTORS, *environment.variants]
    judged = "self-tests" if issubclass(environment, Tested) else "environment"
    evaluators = [judged, "llm", "self-consistency", "none"]
    fields: dict[str, Any] = {
        "strategy": like("strategy", usual.strategy),
        "agent": (
            one_of(agents),
            setting(
                usual.agent,
                "Agent",
                "How it acts: react (text), tools (tool calls)"
                + (", or a way of the environment's own." if environment.variants else "."),
                "act",
            ),
        ),
        "evaluator": (
            one_of(evaluators),
            setting(
                usual.evaluator,
                "Evaluator",
                "What passes the verdict: "
                + ("tests that the model writes" if judged == "self-tests" else "the environment (an oracle)")
                + ", a model, the same question asked again, or nothing.",
                "evaluate",
            ),
        ),
        "feedback": (
            one_of(["binary", "scalar", "words"]),
            setting(usual.feedback, "Feedback", "How much of a failed verdict is told.", "reflect"),
        ),
        "memory_size": like("memory_size", usual.memory_size),
        "max_trials": like("max_trials", usual.max_trials),
        "approve_actions": (
            list[one_of(list(environment.episode.actions()))],  # type: ignore[misc]
            setting([], "Approve actions", "Pause for a person before these actions.", "observe"),
        ),
        **more,
        **prompt_fields(shown_prompts(environment, usual)),
    }
    made: type[Settings] = create_model(f"{environment.__name__}Settings", __base__=Settings, **fields)
    made.__doc__ = "What the graph is set to."
    return made


def shown_prompts(environment: type[Environment], usual: Profile) -> Prompts:
    """The prompts that hold by default."""
    folder = load_prompts(environment.name).folder
    own = folder / usual.agent if folder and usual.agent in environment.variants else None
    return load_prompts(own) if own else load_prompts(environment.name)


def prompt_fields(prompts: Prompts, names: Collection[str] = tuple(PROMPTS)) -> dict[str, Any]:
    """A setting for each template that can be edited.

    Args:
        prompts: Whose templates are the defaults.
        names: Which of `PROMPTS`.
    """
    what = {"act": "tells the actor how to act", "reflect": "asks for a reflection", "judge": "asks a model to judge"}
    nodes = {"act": "act", "reflect": "reflect", "judge": "evaluate"}
    return {
        PROMPTS[name]: (
            str,
            setting(
                prompts.text(name),
                f"Prompt: {name}",
                f"The template (Jinja) that {what[name]}.",
                nodes[name],
                prompt=True,
                max_length=50_000,
            ),
        )
        for name in names
    }


def one_of(names: Sequence[str]) -> Any:
    """A type of these words alone."""
    return Literal[tuple(names)]


def like(name: str, default: Any) -> tuple[Any, Any]:
    """A field of `Settings` with another default."""
    field = Settings.model_fields[name]
    return field.annotation, field.merge_field_infos(field, default=default)


def read(model: type[_M], given: Mapping[str, Any], what: str) -> _M:
    """Read what was filled in.

    Args:
        model: What it is to be.
        given: What was filled in, and whatever else stands beside it.
        what: What to call one of its fields in errors.

    Raises:
        ConfigurationError: a field is not what it should be.
    """
    try:
        return model.model_validate({name: given[name] for name in model.model_fields if name in given})
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise ConfigurationError(f"the {what} {where}: {first['msg'][0].lower()}{first['msg'][1:]}") from None
