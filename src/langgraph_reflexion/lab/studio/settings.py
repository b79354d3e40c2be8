"""The forms that Studio draws: of an assistant's settings, and of a run's task.

The settings are those of `ReflexionSettings` that belong to a node. API keys are not settings: the server reads them
from its environment, and its API never returns them.

The fields of a task are in the state for one step: they are there when `reset` begins the run, and gone after it.
"""

import os
from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Any, Literal, cast, get_args, get_type_hints

from langgraph.channels import EphemeralValue
from pydantic import BaseModel, ConfigDict, Field, create_model
from typing_extensions import TypedDict

from langgraph_reflexion.actors import ACTORS
from langgraph_reflexion.envs.base import Environment, Task
from langgraph_reflexion.envs.hotpotqa.wiki import WikiEnvironment
from langgraph_reflexion.errors import ConfigurationError, validated
from langgraph_reflexion.lab.declared import extra
from langgraph_reflexion.lab.demo import DemoChatModel
from langgraph_reflexion.lab.settings import ReflexionSettings
from langgraph_reflexion.loop.conversation import new_message
from langgraph_reflexion.loop.profiles import load_profile
from langgraph_reflexion.models.load import in_file
from langgraph_reflexion.models.messages import Conversation
from langgraph_reflexion.nodes.approval import Approval
from langgraph_reflexion.prompts import Prompts, load_prompts
from langgraph_reflexion.state import ReflexionState
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
    extra: dict[str, Any] = {"langgraph_nodes": [node], **shown}
    return Field(default, description=description, json_schema_extra=extra)


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
DESCRIPTIONS = {"evaluator": "Scores each trial; `llm` asks a model, and `none` leaves the trial unjudged."}
"""Settings that are described otherwise than on the command line, where they have more values."""
OPTIONS: Mapping[str, Mapping[str, Any]] = {"hotpotqa": {"pages": _PAGES}, "fever": {"pages": _PAGES}}
"""The options of environments that are settings, by the environment's name, as fields of a pydantic model."""


class SettingsForm(BaseModel):
    """The settings of an assistant. `settings_form` makes a subclass with the fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def reflexion(self) -> ReflexionSettings:
        """Return the settings of the graph. An empty text counts as not given."""
        shown = self.model_dump(include=set(ReflexionSettings.model_fields))
        if shown.get("memory") == "full":  # the form shows a size all the same
            del shown["memory_size"]
        given = ReflexionSettings.read({name: value for name, value in shown.items() if value != ""})
        for field in ("model", "reflection_model"):
            check_model(field, getattr(given, field), given.base_url)
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
        """Return where the graph pauses; the chosen actor, with these `actions`, may lack some of the form."""
        named = [name for name in getattr(self, "approve_actions", ()) if name in actions]
        return Approval(actions=named, reflections=cast(Any, self).approve_reflections)

    def prompts(self, base: Prompts) -> Prompts:
        """Return the actor's prompts with the templates that were edited."""
        edited = {
            name: text
            for name in PROMPTS
            if (text := getattr(self, f"{name}_prompt", "").strip())
            and text != type(self).model_fields[f"{name}_prompt"].default.strip()
        }
        prompts = Prompts(base.folder, edited) if edited else base
        prompts.preload()
        return prompts


def settings_form(environment: type[Environment]) -> type[SettingsForm]:
    """Make the form of an environment's graph, with the paper's rules there as defaults.

    It has a field for each setting that `ReflexionSettings` declares with a node, each prompt and each option.
    """
    rules = load_profile("paper").resolve(environment)
    folder = load_prompts(environment.name).folder
    own = folder / rules.actor if folder and rules.actor in environment.actors else environment.name
    prompts, actions = load_prompts(own), words(list(environment.episode.actions()))
    kinds = {
        "actor": words([*ACTORS, *environment.actors]),
        "evaluator": words([rules.evaluator, "llm", "self-consistency", "none"]),
    }
    defaults, fields = {**vars(rules), **vars(rules.heuristic)}, dict[str, Any]()
    for field, declared in ReflexionSettings.model_fields.items():
        if not (node := extra(declared, "node")):
            continue
        if field == "model" and environment.name not in DemoChatModel.worlds:
            # No default can be played here: the field begins empty, and says what to fill in.
            fields[field] = (str, setting("", node, NAMED_MODEL))
            continue
        # A form shows the default, and an empty text in place of None.
        optional = [kind for kind in get_args(declared.annotation) if type(None) in get_args(declared.annotation)]
        given = kinds.get(field, optional[0] if optional else declared.annotation)
        default = defaults.get(field, "" if declared.default is None else declared.default)
        # A client may send the whole form: an empty text, which counts as not given, has to be valid.
        limits = [] if default == "" else declared.metadata
        for limit in limits:
            given = Annotated[given, limit]
        # The hint at the default of the command line is not for a form, which shows its own.
        description = DESCRIPTIONS.get(field) or (declared.description or "").partition("  [default:")[0]
        fields[field] = (given, setting(default, node, description))
    fields["approve_reflections"] = (bool, setting(False, "reset", "Pause for a person after each reflection."))
    fields["approve_actions"] = (list[actions], setting([], "observe", "Pause for a person before these actions."))  # type: ignore[valid-type]
    for template, (node, description) in PROMPTS.items():
        shown = setting(prompts.text(template), node, description, langgraph_type="prompt")
        fields[f"{template}_prompt"] = (str, shown)
    fields |= OPTIONS.get(environment.name, {})
    return create_model(
        f"{environment.__name__}Settings", __base__=SettingsForm, __doc__="The settings of the graph.", **fields
    )


def listed(variable: str) -> list[str]:
    """Return what an environment variable lists, separated by commas."""
    return [each.strip() for each in os.environ.get(variable, "").split(",") if each.strip()]


def server_options(environment: str) -> dict[str, Any]:
    """Return the options of an environment that the server's own environment sets."""
    file = os.environ.get(WORKSPACE, "").strip()
    if environment == "workspace" and file:
        return {"task": file}
    return {}


def check_model(field: str, name: str | None, base_url: str | None) -> None:
    """Refuse a model that a setting may not name, as it is code, a folder, a download or an address of this machine.

    Args:
        field: The setting.
        name: Its value.
        base_url: The address that is given beside it, which `check_address` checks.

    Raises:
        ConfigurationError: it is one of these.
    """
    if name is None:
        return
    provider, colon, _ = name.partition(":")
    # A name alone, such as gpt-4o-mini, is one of a hosted provider, or the demo model.
    hosted = not colon or provider in HOSTED
    if hosted and not in_file(name):
        return
    # Its default address is on this machine; another one is checked.
    if provider == "ollama" and base_url:
        return
    raise ConfigurationError(
        f"{field}: a setting names no code, no folder and no address of the server: give PROVIDER:MODEL of a "
        "provider with an API, such as openai:gpt-4o-mini, or a server that is listed, as base_url"
    )


def check_address(base_url: str) -> None:
    """Refuse a model server that is not listed.

    The server's key is sent there, and other services of this machine listen at addresses, too, so whoever may write
    settings must not choose freely.

    Raises:
        ConfigurationError: the address is not allowed, or contains a password.
    """
    try:
        shown = public_url(base_url)
    except ValueError as error:
        raise ConfigurationError(f"base_url: not an address: {error}") from None
    if shown != base_url:
        raise ConfigurationError("base_url: a setting must not contain a user, a password or a query")
    if base_url.rstrip("/") not in [each.rstrip("/") for each in listed(ALLOWED)]:
        raise ConfigurationError(
            f"base_url: {shown} is not listed: allow it in the server's environment, {ALLOWED}={shown}"
        )


FIRST = {"alfworld": 3, "hotpotqa": 5, "fever": 2, "workspace": 2}
"""The task of an empty form, if not the first: in the demo model's worlds one that it solves after a reflection. The
workspace's first task needs Rust, the second only Python."""


class TaskForm(BaseModel):
    """The task to solve. An empty form is one of the environment's own tasks."""

    model_config = ConfigDict(extra="forbid")

    split: str
    number: int
    task_id: str = Field(default="", description="The task's id or instruction, instead of a number.")

    def find(self, environment: Environment, *, oracle: bool) -> Task:
        """Return the task, which is read or generated; `oracle`: whether the environment scores the trials.

        Raises:
            ConfigurationError: there is no such task.
            EnvironmentUnavailable: the environment's data is missing.
        """
        if self.task_id:
            try:
                return environment.find_task(self.task_id, self.split)
            except ConfigurationError as error:
                if not isinstance(environment, WikiEnvironment):
                    raise
                label = environment.episode.label
                if oracle:
                    words = f"{error}; with the evaluator llm, any {label.lower()} is a task"
                    raise ConfigurationError(words) from None
            return self._own(environment, label)
        tasks = environment.tasks(self.split, limit=self.number)
        if len(tasks) < self.number:
            has = f"{environment.name}'s split {self.split} has {len(tasks)} tasks"
            raise ConfigurationError(f"{has}, but no number {self.number}")
        return tasks[self.number - 1]

    def _own(self, environment: Environment, label: str) -> Task:
        """Return a question or claim of the user's own, on the pages of the split; its answer is not known."""
        text, first = " ".join(self.task_id.split()), environment.tasks(self.split, limit=1)[0]
        data = {**first.get("data", {}), "question": text, "answer": "", "supporting": []}
        return Task(id=text, instruction=f"{label}: {text}", data=data)


def task_form(environment: type[Environment], options: Mapping[str, Any] = {}) -> type[TaskForm]:
    """Make the form of an environment's tasks, with its splits; `options` are those of `server_options`."""
    splits: list[Any] = list(getattr(environment, "splits", ("own",)))
    first = FIRST.get(environment.name, 1)
    if "task" in options:
        splits, first = ["tasks"], 1

    split = Field(splits[0], description="The set of tasks.", json_schema_extra={"enum": splits})
    number = Field(first, description="The task of the split, counted from 1.", ge=1)
    whole = Field(None, description="A whole task as JSON, as in a thread's state; overrides the other fields.")
    said: Any = Field([], description="A conversation. Its last message by a person is the task's id or instruction.")
    fields: dict[str, Any] = {
        "split": (str, split),
        "number": (int, number),
        "task": (dict[str, Any] | None, whole),
        "messages": (Conversation, said),
    }
    return create_model(f"{environment.__name__}Task", __base__=TaskForm, __doc__=TaskForm.__doc__, **fields)


def state_with(form: type[BaseModel]) -> type[ReflexionState]:
    """Make the state that also has the form's fields, each for one step."""
    fields: dict[str, Any] = get_type_hints(ReflexionState, include_extras=True)
    for name, field in form.model_fields.items():
        fields.setdefault(name, Annotated[cast(Any, field.annotation), EphemeralValue])
    made: Any = TypedDict(f"{form.__name__}State", fields, total=False)  # type: ignore[misc]
    return cast(type[ReflexionState], made)


def task_in(state: Mapping[str, Any], form: type[TaskForm], environment: Environment, *, oracle: bool) -> Task | None:
    """Return the task that a run begins with, or None if the run continues its task."""
    filled = {name: state[name] for name in form.model_fields if state.get(name) is not None}
    task = filled.pop("task", None)
    filled.pop("messages", None)
    if message := new_message(state):
        filled["task_id"] = message.text
    # The state keeps the thread's own task, which `reset` has marked.
    marked = isinstance(task, dict) and "after" in task
    if task is not None and not (marked and state.get("episode", {}).get("task") == task.get("id")):
        given = {key: task[key] for key in task if key != "after"} if marked else task
        return cast(Task, given)  # `reset` refuses what is not a task
    if not filled and under_way(state):
        return None
    return validated(form, filled, "field").find(environment, oracle=oracle)


def under_way(state: Mapping[str, Any]) -> bool:
    """Return whether `reset` begins a task's next trial rather than a run.

    A finished trial has its record; a run that was stopped in the middle of a trial has no record of it.
    """
    if state.get("status") != "running":
        return False
    trials = state.get("trials") or []
    return bool((trials[-1]["trial"] if trials else 0) == state["trial"])
