"""One call of a chat model: seeded, accounted for, and with its troubles told apart."""

import asyncio
import hashlib
from typing import Any

from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.base import RunnableBindingBase
from langgraph.errors import GraphBubbleUp
from pydantic import SecretStr

from langgraph_reflexion.errors import ModelFault, ReflexionError
from langgraph_reflexion.graph.state import Usage

ChatModel = Runnable[LanguageModelInput, AIMessage]
"""A LangChain chat model, plain or with tools bound."""

NO_USAGE = Usage(llm_calls=0, input_tokens=0, output_tokens=0)

PERMANENT = {401, 403, 404}
"""HTTP statuses that asking again cannot change."""


def derive_seed(seed: int, task: str, trial: int, call: str) -> int:
    """The seed of one model call: a retry is a new sample, a rerun is the same run.

    Args:
        seed: The run's seed.
        task: The task's id.
        trial: The trial, counted from 1.
        call: Which call of the trial ("act 3", "reflect").

    Returns:
        A number below 2**31.
    """
    digest = hashlib.blake2b(f"{seed}\n{task}\n{trial}\n{call}".encode(), digest_size=4).digest()
    return int.from_bytes(digest, "big") >> 1


async def ask(
    model: ChatModel, messages: list[BaseMessage], config: RunnableConfig, *, seed: int
) -> tuple[AIMessage, Usage]:
    """Call the model once.

    Args:
        model: The model.
        messages: The prompt.
        config: The node's config, so that traces and token streams stay connected.
        seed: Passed on where the model takes one.

    Returns:
        The reply, and what it cost.

    Raises:
        ModelFault: the model could not be reached, refused, or answered with nothing.
    """
    extra: dict[str, Any] = {"seed": seed} if _takes_seed(model) else {}
    try:
        reply = await model.ainvoke(messages, config, **extra)
    except (GraphBubbleUp, ReflexionError, asyncio.CancelledError):
        raise
    except Exception as error:
        raise as_fault(error, _secrets(model)) from error
    if not (reply.text.strip() or reply.tool_calls or reply.invalid_tool_calls):
        raise ModelFault("the model answered with nothing")
    counted = reply.usage_metadata
    return reply, Usage(
        llm_calls=1,
        input_tokens=counted["input_tokens"] if counted else 0,
        output_tokens=counted["output_tokens"] if counted else 0,
    )


def add_usage(one: Usage, other: Usage) -> Usage:
    """The sum of two accounts."""
    return Usage(
        llm_calls=one["llm_calls"] + other["llm_calls"],
        input_tokens=one["input_tokens"] + other["input_tokens"],
        output_tokens=one["output_tokens"] + other["output_tokens"],
    )


def as_fault(error: Exception, secrets: list[str]) -> ModelFault:
    """Say in one line what went wrong, and whether asking again may help.

    Args:
        error: What the client raised.
        secrets: What is taken out of its words: a server that refuses a key may quote it.
    """
    detail = " ".join(str(error).split())
    for secret in filter(None, secrets):
        detail = detail.replace(secret, "***")
    return ModelFault(
        f"the model could not answer: {type(error).__name__}: {detail[:300]}",
        permanent=getattr(error, "status_code", None) in PERMANENT,
    )


def _inner(model: ChatModel) -> Any:
    while isinstance(model, RunnableBindingBase):
        model = model.bound
    return model


def _takes_seed(model: ChatModel) -> bool:
    inner = _inner(model)
    return isinstance(inner, BaseChatModel) and "seed" in type(inner).model_fields


def _secrets(model: ChatModel) -> list[str]:
    values = vars(_inner(model)).values()
    return [value.get_secret_value() for value in values if isinstance(value, SecretStr)]
