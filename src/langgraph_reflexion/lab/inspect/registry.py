"""The names that Inspect finds (`inspect eval langgraph_reflexion/alfworld`): tasks, agent, scorers, demo model.

The entry point `inspect_ai` of the package names this module. The demo model (`--model reflexion/demo`) follows
rules, and is not an LLM.
"""

import weakref
from collections.abc import Callable, Sequence
from typing import Any

from inspect_ai import Task as InspectTask
from inspect_ai import task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessage,
    ChatMessageAssistant,
    GenerateConfig,
    ModelAPI,
    ModelOutput,
    ModelUsage,
    StopReason,
    messages_to_openai,
    modelapi,
)
from inspect_ai.tool import ToolCall, ToolChoice, ToolInfo
from langchain_core.messages import AIMessage, convert_to_messages

from langgraph_reflexion.envs import load_environment
from langgraph_reflexion.envs.base import Task
from langgraph_reflexion.envs.load import tasks_of
from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.lab.demo import DemoChatModel
from langgraph_reflexion.lab.inspect.agent import TASK, read_settings, reflexion_agent, sample_context
from langgraph_reflexion.lab.inspect.scorer import solved, solved_by_trial
from langgraph_reflexion.support.sync import finished

MODEL = "reflexion/demo"


@modelapi(name="reflexion")
def reflexion_models() -> type[ModelAPI]:
    """The provider `reflexion`."""
    return DemoProvider


class DemoProvider(ModelAPI):
    """The demo model. It uses no network, and counts tokens itself.

    Raises:
        ConfigurationError: there is no such model.
    """

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig = GenerateConfig(),  # noqa: B008 - as in Inspect's own providers
    ) -> None:
        super().__init__(model_name, base_url, api_key, [], config)
        if model_name != "demo":
            raise ConfigurationError(f"no model 'reflexion/{model_name}': choose reflexion/demo")

    async def generate(
        self, input: list[ChatMessage], tools: list[ToolInfo], tool_choice: ToolChoice, config: GenerateConfig
    ) -> ModelOutput:
        in_openai_format: Any = await messages_to_openai(input)
        messages = convert_to_messages(in_openai_format)
        options: dict[str, Any] = {}
        if config.seed is not None:
            options["seed"] = config.seed
        if tools and tool_choice != "none":
            functions = [tool.model_dump(exclude_none=True) for tool in tools]
            options["tools"] = [{"type": "function", "function": function} for function in functions]
        reply = await DemoChatModel().ainvoke(messages, stop=config.stop_seqs, **options)
        return _output(reply)


def _output(reply: AIMessage) -> ModelOutput:
    """Return a reply of the demo model as Inspect's."""
    calls = []
    for call in reply.tool_calls:
        calls.append(ToolCall(id=call["id"] or "", function=call["name"], arguments=call["args"]))
    stop_reason: StopReason = "stop"
    if calls:
        stop_reason = "tool_calls"
    message = ChatMessageAssistant(content=reply.text, tool_calls=calls or None, model=MODEL, source="generate")
    # Without usage, Inspect would download an encoding to count tokens.
    used = reply.usage_metadata or {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}
    return ModelOutput(
        model=MODEL,
        choices=[ChatCompletionChoice(message=message, stop_reason=stop_reason)],
        usage=ModelUsage(
            input_tokens=used["input_tokens"], output_tokens=used["output_tokens"], total_tokens=used["total_tokens"]
        ),
    )


def samples_of(tasks: Sequence[Task]) -> list[Sample]:
    """Return tasks as Inspect samples, with the instruction as input and the task in the metadata."""
    samples = []
    for each in tasks:
        metadata = {TASK: dict(each)}
        samples.append(Sample(id=each["id"], input=each["instruction"], target="solved", metadata=metadata))
    return samples


@task
def reflexion(
    environment: str, split: str | None = None, options: dict[str, Any] | None = None, **settings: Any
) -> InspectTask:
    """Return the tasks of an environment as an Inspect task.

    Args:
        environment: The environment's name, or the path of your own, such as `package.module:Class`.
        split: The split, by default the environment's first one.
        options: The environment's options.
        **settings: The settings of the agent; see `reflexion_agent`.

    Raises:
        ConfigurationError: a setting is invalid.
        EnvironmentUnavailable: the environment cannot be used here.
    """
    # The agent's seed is the environment's, too, unless the options name another one.
    with_seed: dict[str, Any] = {"seed": read_settings(settings).seed}
    if options:
        with_seed.update(options)
    made = load_environment(environment, **with_seed)
    chosen = made.choose_split(split)
    tasks = tasks_of(made, chosen)
    if not tasks:
        raise ConfigurationError(f"the split {chosen!r} of {environment} has no tasks")
    agent = reflexion_agent(made, **settings)
    # Inspect does not say when a task is over: the environment is closed when nothing holds its agent any more.
    weakref.finalize(agent, lambda: finished(made.close()))
    return InspectTask(
        dataset=MemoryDataset(samples_of(tasks), name=f"{made.name}/{chosen}"),
        setup=sample_context(),
        solver=agent,
        scorer=[solved(), solved_by_trial()],
    )


def _registered(environment: str) -> Callable[..., InspectTask]:
    """Return the task of an environment, which Inspect finds by the environment's name."""

    def make(split: str | None = None, options: dict[str, Any] | None = None, **settings: Any) -> InspectTask:
        return reflexion(environment, split, options, **settings)

    make.__name__ = environment
    make.__qualname__ = environment
    make.__doc__ = f"The tasks of {environment}; the parameters are those of `reflexion`."
    made: Callable[..., InspectTask] = task(make)
    return made


alfworld = _registered("alfworld")
fever = _registered("fever")
hotpotqa = _registered("hotpotqa")
programming = _registered("programming")
webshop = _registered("webshop")
workspace = _registered("workspace")
