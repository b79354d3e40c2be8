"""The length of a run's first prompt, which is built without asking a model."""

import asyncio

from langchain_core.messages import AIMessage, BaseMessage

from langgraph_reflexion.envs.base import Environment, Task
from langgraph_reflexion.errors import ReflexionError
from langgraph_reflexion.graph.reflexion import create_reflexion
from langgraph_reflexion.models.options import ModelOptions
from langgraph_reflexion.models.usage import CHARACTERS_PER_TOKEN
from langgraph_reflexion.retries import Retries
from langgraph_reflexion.settings import RunSettings


def opening_tokens(settings: RunSettings, environment: Environment, task: Task) -> int | None:
    """The tokens of the prompt for a task's first step, about; None where the task cannot be started here.

    The tokens of tool schemas are not in it.

    Args:
        settings: The run's, resolved.
        environment: Its environment.
        task: Its first task, say.
    """
    from langgraph_reflexion.testing import ScriptedChatModel

    prompts: list[list[BaseMessage]] = []

    def note(messages: list[BaseMessage]) -> AIMessage:
        prompts.append(messages)
        return AIMessage("Nothing.")  # an empty answer would be asked for again

    evaluator = settings.evaluator if settings.evaluator == "self-tests" else None
    graph = create_reflexion(
        ScriptedChatModel(replies=note),
        environment,
        actor=settings.actor,
        strategy=settings.strategy,
        evaluator=evaluator,
        profile=settings.profile,
        options=ModelOptions(retries=Retries(1)),
    ).compile()

    async def first_step() -> None:
        async for update in graph.astream({"task": task}, stream_mode="updates"):
            if "act" in update:
                return

    try:
        asyncio.run(first_step())
    except ReflexionError:
        return None
    return sum(len(message.text) for message in prompts[-1]) // CHARACTERS_PER_TOKEN if prompts else None
