"""What models were sent and what they replied, as plain JSON that grows only with what a prompt adds.

The prompts of a trial resemble each other: most begin with the whole prompt before. So a call is kept as the number
of messages that it shares with the call before it, and the messages that it adds.
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.models.calls import ModelCall
from langgraph_reflexion.models.recorded import SentCall, SentMessage, continue_prompt, with_content
from langgraph_reflexion.support.text import DEEPEST, plain

LEAST_SHARED = 200
"""Characters that the beginnings of two messages must have in common to be kept once."""

LONGEST_REPLY = 100_000
"""Characters of a reply that are kept: a model may run on."""

ROLES = {"human": "user", "ai": "assistant"}
"""The roles of messages whose LangChain type has another name."""

FILES = ("image", "image_url", "input_image", "audio", "input_audio", "video", "file", "input_file", "media")
"""Types of content blocks that hold a file, of which only size and digest are kept."""

LARGEST_PICTURE = 10_000_000
"""Characters of a picture's data up to which a prompt of this package holds it: about 7.5 MB."""

PICTURES = {f"image/{name}" for name in ("png", "jpeg", "jpg", "gif", "webp", "heic", "heif", "bmp")}
"""The MIME types of pictures: those that hold nothing but pixels, unlike SVG, which may name files and addresses."""

_PLACES = ("url", "image_url", "file_id", "file_uri", "fileUri", "source_type", "path", "uri")
"""Keys of a content block that say where a file is."""

_NO_FILES = ("input", "args", "arguments", "annotations", "citations")
"""Keys of a block under which addresses are only written: the arguments of a call, and sources of a text."""

_RAW_CALLS = ("tool_calls", "function_call")
"""Keywords that repeat a message's tool calls in the provider's form."""


def with_calls(before: Sequence[SentCall], calls: Sequence[ModelCall], step: int | None = None) -> list[SentCall]:
    """Return the calls of a trial with further ones.

    Args:
        before: The trial's calls so far.
        calls: The further ones, in the order in which they were made.
        step: The step that they asked for, if they asked for one.
    """
    kept = list(before)
    prompt, tools = _last_prompt(before)
    for call in calls:
        messages = [as_json(message) for message in call.messages]
        offered = [plain(tool) for tool in call.tools]
        made = _beside(prompt, messages, call)
        if step is not None:
            made["step"] = step
        if offered != tools:
            made["tools"] = offered
        kept.append(made)
        prompt = messages
        tools = offered
    return kept


def as_json(message: BaseMessage) -> SentMessage:
    """Return a message as JSON."""
    content = message.content
    if isinstance(content, list):
        content = [_block(block) for block in content]
    made = SentMessage(role=ROLES.get(message.type, message.type), content=plain(content))
    if isinstance(message, ToolMessage):
        made["tool_call_id"] = message.tool_call_id
    if isinstance(message, AIMessage):
        if message.tool_calls:
            made["tool_calls"] = plain(message.tool_calls)
        if message.invalid_tool_calls:
            made["invalid_tool_calls"] = plain(message.invalid_tool_calls)
    more = message.additional_kwargs
    more = {name: value for name, value in more.items() if value and name not in _RAW_CALLS}
    if more:
        made["additional_kwargs"] = plain(more)
    return made


def _reply(reply: AIMessage | None) -> SentMessage | None:
    """Return a reply as text and tool calls, without the reasoning, which may be much longer."""
    if reply is None:
        return None
    text = str(reply.text)
    if len(text) > LONGEST_REPLY:
        left_out = len(text) - LONGEST_REPLY
        text = f"{text[:LONGEST_REPLY]} [{left_out} characters left out]"
    made = AIMessage(text, tool_calls=reply.tool_calls, invalid_tool_calls=reply.invalid_tool_calls)
    return as_json(made)


def _block(block: Any) -> Any:
    """Return a content block of a message; of a file its size and digest."""
    if not isinstance(block, dict) or block.get("type") not in FILES:
        return block
    data = json.dumps(block, sort_keys=True, default=str).encode()
    digest = hashlib.sha256(data).hexdigest()
    return {"type": block["type"], "bytes": len(data), "sha256": digest}


def inline_picture(block: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return a picture whose data are in its block, and nothing else; None for a file or an address."""
    match block.get("type"):
        case "image":
            kind = block.get("mime_type")
            data = block.get("base64")
        case "image_url":
            # OpenAI's form: `data:image/png;base64,...`.
            address = block.get("image_url")
            if isinstance(address, dict):
                address = address.get("url")
            if not isinstance(address, str) or not address.startswith("data:"):
                return None
            kind, _, data = address.removeprefix("data:").partition(";base64,")
        case _:
            return None
    if not isinstance(kind, str) or kind not in PICTURES:
        return None
    if not isinstance(data, str) or not _is_picture_data(data):
        return None
    return {"type": "image", "base64": data, "mime_type": kind}


def _is_picture_data(data: str) -> bool:
    # The length first, as the pattern reads all of it.
    return len(data) <= LARGEST_PICTURE and _BASE64.fullmatch(data) is not None


def expect_no_files(messages: Sequence[BaseMessage]) -> None:
    """Refuse a prompt of this package that holds or names a file: they consist of text, and of inline pictures.

    Steps and replies come from the state or from a cache, which somebody else may have written, and some clients open
    the path or call the address that a block of an image names.

    Raises:
        ConfigurationError: a message holds such a block.
    """
    for message in messages:
        if isinstance(message.content, str):
            continue
        for block in message.content:
            if _names_file(block) and not _is_inline_picture(block):
                raise ConfigurationError(
                    "a step or a kept reply holds a file or its address, and prompts are texts: the state or "
                    "the cache was changed; begin the task again"
                )


def _is_inline_picture(block: Any) -> bool:
    """Return whether a block is a picture with its data, and holds nothing beside that could name a file."""
    return isinstance(block, dict) and block == inline_picture(block)


_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")


def _names_file(value: Any, depth: int = 0) -> bool:
    if not isinstance(value, list | dict):
        return False
    if depth == DEEPEST:
        # No client nests its blocks so deep: what cannot be read is refused.
        return True
    if isinstance(value, list):
        return any(_names_file(each, depth + 1) for each in value)
    if value.get("type") in FILES or any(place in value for place in _PLACES):
        return True
    inside = [each for key, each in value.items() if key not in _NO_FILES]
    return any(_names_file(each, depth + 1) for each in inside)


def _beside(before: Sequence[SentMessage], messages: Sequence[SentMessage], call: ModelCall) -> SentCall:
    """Return a call short of the messages that it shares with the prompt before."""
    same = 0
    for one, other in zip(before, messages, strict=False):
        if one != other:
            break
        same += 1
    added = list(messages[same:])
    made = SentCall(
        kind=call.id.kind,
        call=call.id.name,
        same=same,
        added=added,
        reply=_reply(call.reply),
    )
    # Nothing is left of the prompt before that a message could continue, or no message has come.
    if same == len(before) or not added:
        return made
    # One long message with the whole transcript grows at its end, too.
    text = added[0]["content"]
    earlier = before[same]["content"]
    if not isinstance(text, str) or not isinstance(earlier, str):
        return made
    characters = _shared_beginning(text, earlier)
    if characters >= LEAST_SHARED:
        added[0] = with_content(added[0], text[characters:])
        made["same_characters"] = characters
    return made


def _shared_beginning(one: str, other: str) -> int:
    """Return the number of first characters that two texts have in common."""
    # By halves: comparing slices is much faster than comparing characters.
    least = 0
    most = min(len(one), len(other))
    while least < most:
        middle = (least + most + 1) // 2
        if one[:middle] == other[:middle]:
            least = middle
        else:
            most = middle - 1
    return least


def _last_prompt(calls: Sequence[SentCall]) -> tuple[list[SentMessage], list[dict[str, Any]]]:
    """Return the messages and the tools of the last call; both are empty without any call."""
    prompt: list[SentMessage] = []
    tools: list[dict[str, Any]] = []
    for call in calls:
        continue_prompt(prompt, call)
        tools = call.get("tools", tools)
    return prompt, tools
