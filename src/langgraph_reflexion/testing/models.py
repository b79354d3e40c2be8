r"""Chat models that reply from a script, and from a recording.

A recording is a file of JSON Lines, one row per call:

    {"task": "own/s0/000-older", "trial": 1, "call": "act 0", "reply": "Thought: ...\nAction: search[...]"}

`task` is the task's id, `trial` is counted from 1, and `call` names the call of the trial: `act 0` chooses the first
step, `reflect` writes the reflection, `evaluate` scores the trial. A row may also hold the reply's `tool_calls`
(`name`, `args`, `id`) and its `usage` (`input_tokens`, `output_tokens`). If a call has several rows, the last one
counts: a resumed run repeats the calls of an interrupted trial.
"""

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NotRequired, TypedDict, cast
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage, UsageMetadata
from langchain_core.outputs import ChatGeneration, ChatResult, LLMResult
from langchain_core.runnables import Runnable
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import Field, PrivateAttr, SkipValidation

from langgraph_reflexion.errors import ConfigurationError, ReflexionError
from langgraph_reflexion.models.calls import NAME, TASK, TRIAL
from langgraph_reflexion.support.files import read_rows

Reply = str | AIMessage | Exception


class ScriptExhausted(ReflexionError):
    """A scripted model has no reply left. Not a fault: the test or the agent is wrong."""


class ScriptedChatModel(BaseChatModel):
    """A chat model that replies from a list, in order, or from a function of the prompt, and keeps every prompt.

    Attributes:
        replies: Texts, messages, exceptions to raise, or a function of the messages. A used-up list raises
            `ScriptExhausted`, which ends the run and is not taken for a fault. Tokens are counted where a message
            has `usage_metadata`; a text has none.
        prompts: The messages of every call so far.
        seeds: The seed of every call so far.
    """

    replies: Annotated[Sequence[Reply] | Callable[[list[BaseMessage]], Reply], SkipValidation]
    seed: int | None = None
    prompts: list[list[BaseMessage]] = Field(default_factory=list)
    seeds: list[int | None] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Runnable[LanguageModelInput, AIMessage]:
        return self.bind(tools=[convert_to_openai_tool(each) for each in tools], **kwargs)

    def _generate(
        self, messages: list[BaseMessage], stop: list[str] | None = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        self.prompts.append(messages)
        self.seeds.append(kwargs.get("seed", self.seed))
        if callable(self.replies):
            reply = self.replies(messages)
        elif len(self.prompts) > len(self.replies):
            raise ScriptExhausted(
                f"the script has no reply left: it has {len(self.replies)}, and this is call {len(self.prompts)}"
            )
        else:
            reply = self.replies[len(self.prompts) - 1]
        if isinstance(reply, Exception):
            raise reply
        if isinstance(reply, str):
            reply = AIMessage(reply)
        return ChatResult(generations=[ChatGeneration(message=reply)])

    async def _agenerate(
        self, messages: list[BaseMessage], stop: list[str] | None = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        return self._generate(messages, stop, **kwargs)


class MissingReply(ReflexionError):
    """A recording has no reply to a call. Not a fault: it is of another run, or the agent has changed."""


class RecordedReply(TypedDict):
    """One row of a recording."""

    task: str
    trial: int
    call: str
    reply: str
    tool_calls: NotRequired[list[dict[str, Any]]]
    usage: NotRequired[dict[str, int]]


class RecordedChatModel(BaseChatModel):
    """A chat model that replies from a recording, by task, trial and call; it ignores the prompt.

    The same call gets the same reply, in any order, so a run may advance many tasks at once and be resumed. A call
    without a reply raises `MissingReply`, which ends the run and is not taken for a fault. It answers the nodes of
    the graph, and other callers that give a call's place in the metadata (`models.calls`).

    Args:
        recording: The rows, or the file that holds them.

    Raises:
        ConfigurationError: a row is malformed, or the file cannot be read.
    """

    recording: Annotated[Sequence[Mapping[str, Any]] | Path | str, SkipValidation]
    # LangChain's own cache would give two trials with equal prompts the same reply.
    cache: Any = False
    _replies: dict[tuple[str, int, str], AIMessage] = PrivateAttr(default_factory=dict)

    def __init__(self, recording: Sequence[Mapping[str, Any]] | Path | str, **settings: Any) -> None:
        settings["recording"] = recording
        super().__init__(**settings)
        if isinstance(recording, Path | str):
            rows = read_recording(Path(recording))
        else:
            rows = [_checked(row) for row in recording]
        self._replies = {(row["task"], row["trial"], row["call"]): _message(row) for row in rows}

    @property
    def _llm_type(self) -> str:
        return "recorded"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Runnable[LanguageModelInput, AIMessage]:
        return self.bind(tools=tools, **kwargs)

    def _generate(
        self, messages: list[BaseMessage], stop: list[str] | None = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        metadata: dict[str, Any] = {}
        if run_manager and run_manager.metadata:
            metadata = run_manager.metadata
        if TASK not in metadata:
            raise MissingReply("a recording answers calls of the graph's nodes only")
        task, trial, name = metadata[TASK], metadata[TRIAL], metadata[NAME]
        reply = self._replies.get((task, trial, name))
        if reply is None:
            raise MissingReply(f"the recording has no reply to the call {name!r} of trial {trial} of {task}")
        # A copy, as LangChain writes into the messages that it returns.
        return ChatResult(generations=[ChatGeneration(message=reply.model_copy())])


class Recorder(BaseCallbackHandler):
    """A LangChain callback that records the replies of models to the graph's nodes.

    Pass it to a run, `graph.invoke({"task": task}, {"callbacks": [Recorder(path)]})`, or to a model,
    `ChatOpenAI(..., callbacks=[Recorder(path)])`. Cached replies are not recorded.

    Args:
        path: The file; rows are appended.
    """

    # Rows are in the order of the replies, and a full disk ends the run.
    run_inline = True
    raise_error = True

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self._asked: dict[UUID, dict[str, Any]] = {}
        self._writing = threading.Lock()

    def on_chat_model_start(
        self, serialized: dict[str, Any], messages: list[list[BaseMessage]], *, run_id: UUID, **kwargs: Any
    ) -> None:
        metadata = kwargs.get("metadata") or {}
        if TASK in metadata:
            self._asked[run_id] = {"task": metadata[TASK], "trial": metadata[TRIAL], "call": metadata[NAME]}

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:
        row = self._asked.pop(run_id, None)
        generation = response.generations[0][0]
        if row is None or not isinstance(generation, ChatGeneration):
            return
        message = generation.message
        row["reply"] = message.text
        if isinstance(message, AIMessage):
            calls = []
            for call in message.tool_calls:
                calls.append({"name": call["name"], "args": call["args"], "id": call["id"]})
            # A row without them is shorter, and means the same.
            if calls:
                row["tool_calls"] = calls
            usage = message.usage_metadata
            if usage:
                row["usage"] = {"input_tokens": usage["input_tokens"], "output_tokens": usage["output_tokens"]}
        line = json.dumps(row, ensure_ascii=False)
        # A reply may hold half of a pair of surrogates, which UTF-8 cannot write.
        with self._writing, self.path.open("a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(line + "\n")

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        self._asked.pop(run_id, None)


def read_recording(path: Path | str) -> list[RecordedReply]:
    """Read a recording.

    Raises:
        ConfigurationError: it cannot be read, or a row is malformed.
    """
    rows = []
    for place, row in read_rows(Path(path)):
        try:
            rows.append(_checked(row))
        except ValueError as error:
            raise ConfigurationError(f"{place}: {error}") from error
    return rows


def _checked(row: Any) -> RecordedReply:
    match row:
        case {"task": str(), "trial": int(), "call": str(), "reply": str()}:
            try:
                _message(cast(RecordedReply, row))
            except (KeyError, TypeError, ValueError) as error:
                raise ConfigurationError(f"malformed `tool_calls` or `usage`: {error!r}") from error
            return cast(RecordedReply, row)
    raise ConfigurationError(f"a recording's row has `task`, `trial`, `call` and `reply`; got {row!r:.100}")


def _message(row: RecordedReply) -> AIMessage:
    calls = []
    for call in row.get("tool_calls") or []:
        calls.append({"name": call["name"], "args": call["args"], "id": call["id"]})
    usage = None
    used = row.get("usage")
    if used:
        read, wrote = used["input_tokens"], used["output_tokens"]
        usage = UsageMetadata(input_tokens=read, output_tokens=wrote, total_tokens=read + wrote)
    return AIMessage(row["reply"], tool_calls=calls, usage_metadata=usage)
