"""The serializer of checkpoints and cached replies: it makes objects of known types only, and refuses others."""

import threading
from typing import Any

from langgraph.checkpoint.serde.event_hooks import SerdeEvent, register_serde_event_listener
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from langgraph_reflexion.errors import ConfigurationError

WRITTEN = ("null", "bytes", "bytearray", "msgpack")
"""The kinds of values that this serializer writes, and so the only ones that it reads."""


class StrictSerializer(JsonPlusSerializer):
    """LangGraph's serializer in its strict mode, with an error for every value that the mode blocks.

    A stored value can name any importable callable, to be called when the value is read. The strict mode only calls
    LangGraph's and LangChain's own types (messages, `Send`, `Interrupt`, dates, sets, ...). On its own, it would
    return the arguments of any other call in place of the object, and log that.

    Args:
        what: What is read, for messages: "the checkpoints in run/checkpoints.db".
        remedy: What the reader of a message can do about a type that is not allowed.
    """

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(allowed_msgpack_modules=None)
        self.what = what
        self.remedy = remedy

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """Read a value.

        Raises:
            ConfigurationError: it has a type that is not allowed, is of a kind that is never written, or is damaged.
        """
        kind, content = data
        if kind not in WRITTEN:
            raise ConfigurationError(
                f"{self.what} hold a value of the kind {kind!r:.40}, which this package does not write and does not "
                "read: someone else wrote it"
            )
        blocked: list[str] = []
        here = threading.get_ident()

        def listen(event: SerdeEvent) -> None:
            # LangGraph tells every listener about every serializer; those that read now in this thread are this one.
            if threading.get_ident() == here:
                blocked.append(_name_of(event))

        forget = register_serde_event_listener(listen)
        try:
            value = super().loads_typed((kind, content))
        except ValueError as error:
            raise ConfigurationError(f"{self.what} hold a damaged value: {error}") from error
        finally:
            forget()
        if blocked:
            raise ConfigurationError(
                f"{self.what} hold a value that would call {blocked[0]:.80}, which is not allowed: {self.remedy}"
            )
        return value


def _name_of(event: SerdeEvent) -> str:
    parts = [event["module"], event["name"]]
    if "method" in event:
        parts.append(event["method"])
    return ".".join(map(str, parts))
