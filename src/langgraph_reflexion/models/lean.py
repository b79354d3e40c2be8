"""OpenAI's client at half its price: neither are its prompts walked through, nor do its replies change threads.

Before the SDK sends a request it compares each message and tool with all the types that these can have, which changes
nothing and costs as much CPU as all the rest of the call. What is given as `extra_body` it sends as it is. And what
came back is read in a thread of a pool, which costs more than the reading. The client is the same otherwise, and so
are its requests, its replies and its errors.
"""

import inspect
from collections.abc import Mapping
from functools import cache
from typing import Any, TypeVar

from langchain_core.language_models import BaseChatModel

Model = TypeVar("Model", bound=BaseChatModel)

_CLIENT = "langchain_openai.chat_models.base", "ChatOpenAI"
_HOOKS = "_get_request_payload", "_agenerate", "_create_chat_result"
"""Where LangChain's client puts a request together, sends it, and reads the reply. The names are private: where one
of them is gone, nothing is changed."""


def lean(model: Model) -> Model:
    """The same model with a client that costs half as much CPU per call.

    Args:
        model: The model; it stays as it is. Anything else than LangChain's own `ChatOpenAI` is given back.
    """
    made = type(model)
    if (made.__module__, made.__name__) != _CLIENT or (cheaper := lean_class(made)) is made:
        return model
    copied = model.model_copy()
    # Its fields and connections stay: the class adds methods, and no state.
    copied.__class__ = cheaper
    return copied


@cache
def lean_class(client: type[Model]) -> type[Model]:
    """A class of clients whose messages and tools go by way of `extra_body`; the class itself where that cannot be.

    Args:
        client: `ChatOpenAI`, or one that sends its requests in the same way.
    """
    hooks: list[Any] = [getattr(client, name, None) for name in _HOOKS]
    _, send, _ = hooks
    if not all(map(inspect.isfunction, hooks)) or not inspect.iscoroutinefunction(send):
        return client

    class Lean(client):  # type: ignore[valid-type,misc]
        def _get_request_payload(self, *args: Any, **options: Any) -> Any:
            return lean_payload(super()._get_request_payload(*args, **options))

        async def _agenerate(self, messages: Any, stop: Any = None, run_manager: Any = None, **options: Any) -> Any:
            def as_ever(client: Any) -> Any:
                return send(client, messages, stop=stop, run_manager=run_manager, **options)

            payload = self._get_request_payload(messages, stop=stop, **options)
            if not _is_lean(payload) or self.include_response_headers or getattr(self, "_uses_gateway", False):
                return await as_ever(self)
            came = _Came()
            try:
                came.reply = await self.async_client.with_raw_response.create(**payload)
                return self._create_chat_result(came.reply.parse(), {})
            except Exception as error:
                # LangChain has words of its own for what goes wrong: it is shown the same once more.
                came.error = error
                return await as_ever(self.model_copy(update={"async_client": came}))

    # Traces, caches and what is serialised know it by the name that it always had.
    Lean.__name__, Lean.__qualname__, Lean.__doc__ = client.__name__, client.__qualname__, client.__doc__
    return Lean


def lean_payload(payload: Any) -> Any:
    """The arguments of a request with messages and tools in `extra_body`; as they are where the SDK has to see them.

    It has to where the answer is structured, as the SDK reads that with the request in hand, and where they hold
    more than JSON. Requests to the Responses API have no messages.

    Args:
        payload: The arguments of `chat.completions.create`.
    """
    if not isinstance(payload, dict) or "response_format" in payload or not isinstance(payload.get("messages"), list):
        return payload
    long = {name: payload[name] for name in ("messages", "tools") if isinstance(payload.get(name), list)}
    given = payload.get("extra_body")
    body = {} if given is None else given
    # What a user has set there goes over everything else, messages included.
    if not isinstance(body, Mapping) or body.keys() & long or not _is_json(long):
        return payload
    # The empty lists keep their places among the other keys.
    return payload | {name: [] for name in long} | {"extra_body": {**body, **long}}


def _is_lean(payload: Any) -> bool:
    return isinstance(payload, dict) and payload.get("messages") == [] and "messages" in payload.get("extra_body", ())


def _is_json(value: Any) -> bool:
    kind = type(value)
    if kind is str or value is None or kind in (bool, int, float):
        return True
    if kind is dict:
        return all(type(key) is str and _is_json(each) for key, each in value.items())
    return kind is list and all(map(_is_json, value))


class _Came:
    """In the place of the client's connection: what came of a request that was sent already."""

    reply: Any = None
    error: Exception

    @property
    def with_raw_response(self) -> "_Came":
        return self

    async def create(self, **payload: Any) -> Any:
        if self.reply is None:
            raise self.error
        return self.reply
