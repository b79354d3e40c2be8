"""OpenAI's client at half its price: its prompts are not compared with types, and its replies change no threads.

Before the SDK sends a request it compares each argument, message and tool with all the types that these can have,
which changes nothing and costs as much CPU as all the rest of the call. Then it reads what came back field by field,
in a thread of a pool, which costs more than the reading. Here it is asked once what it would send for such arguments,
and that is sent with its own `post`, as it is. The client is the same otherwise, and so are its requests, its replies
and its errors. What streams, and what is not asked from a coroutine, goes the usual way.
"""

import inspect
from functools import cache
from typing import Any, NamedTuple, TypeVar

from langchain_core.language_models import BaseChatModel
from pydantic import ValidationError

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
    """A class of clients that post what the SDK would; the class itself where that cannot be.

    Args:
        client: `ChatOpenAI`, or one that sends its requests in the same way.
    """
    hooks: list[Any] = [getattr(client, name, None) for name in _HOOKS]
    _, send, _ = hooks
    if not all(map(inspect.isfunction, hooks)) or not inspect.iscoroutinefunction(send):
        return client

    class Lean(client):  # type: ignore[valid-type,misc]
        async def _agenerate(self, messages: Any, stop: Any = None, run_manager: Any = None, **options: Any) -> Any:
            request = await prepared(self, self._get_request_payload(messages, stop=stop, **options))
            asked = self
            if request is not None:
                sent = _Sent()
                try:
                    sent.reply = await self.root_async_client.post(request.path, body=request.body, **request.how)
                    if not _has_news(self, sent.reply):
                        return self._create_chat_result(_read(sent.reply, request.how["cast_to"]), {})
                except Exception as error:
                    sent.error = error
                # What went wrong LangChain has words of its own for, and what headers say it keeps: it asks once
                # more, and is given what came. Nothing is sent again.
                asked = self.model_copy(update={"async_client": sent})
            return await send(asked, messages, stop=stop, run_manager=run_manager, **options)

    # LangChain looks at the arguments with each call.
    Lean._agenerate.__signature__ = inspect.signature(send)  # type: ignore[attr-defined]
    # Traces, caches and what is serialised know it by the name that it always had.
    Lean.__name__, Lean.__qualname__, Lean.__doc__ = client.__name__, client.__qualname__, client.__doc__
    return Lean


class Request(NamedTuple):
    """What the SDK hands to its client's `post`."""

    path: str
    body: dict[str, Any]
    how: dict[str, Any]
    """The other arguments."""


async def prepared(model: Any, payload: Any) -> Request | None:
    """What the SDK would post; None where it has to see for itself.

    That rests on what the tests see on the wire: of arguments that are plain JSON, the SDK changes none. It has to
    see for itself where they hold more than that; where the answer is structured, as it reads that with the request
    in hand, or streamed; where they are not all for the body; and where anything about it is not as it was made.

    Args:
        model: The client.
        payload: The arguments of `chat.completions.create`.
    """
    try:
        given = {name: _copied(value) for name, value in payload.items() if name != "extra_body"}
        extra = payload.get("extra_body")
        if "response_format" in given or given.get("stream") or _is_watched(model):
            return None
        path, body, how = await _sample(type(model.async_client), frozenset(given))
        if body.keys() != given.keys():
            return None
        in_order = {name: given[name] for name in body}
        # Each request has its own, as clients may be wrapped in what writes into them.
        options = {name: dict(each) if isinstance(each, dict) else each for name, each in how["options"].items()}
        return Request(path, in_order | ({} if extra is None else _copied(extra)), how | {"options": options})
    except Exception:
        # It is another SDK, or arguments that it refuses: it says so itself.
        return None


def _copied(value: Any) -> Any:
    """A copy of what is plain JSON, as the SDK makes one.

    Raises:
        TypeError: it is something else.
    """
    kind = type(value)
    if kind is str or value is None or kind in (bool, int, float):
        return value
    if kind is list:
        return [_copied(each) for each in value]
    if kind is dict and all(type(key) is str for key in value):
        return {key: _copied(each) for key, each in value.items()}
    raise TypeError(kind)


def _is_watched(model: Any) -> bool:
    """Whether somebody has put a function of his own in the place of one of the SDK's, to see what is asked."""
    client, completions = model.root_async_client, model.async_client
    create = type(completions).create
    # A wrapper may pass for what it wraps, but its globals are those of where it was written.
    if not create.__globals__["__name__"].startswith("openai."):
        return True
    asks = completions.with_raw_response.create.__wrapped__
    return asks.__func__ is not create or completions._post != client.post


_samples: dict[tuple[type, frozenset[str]], Request] = {}


async def _sample(completions: type, names: frozenset[str]) -> Request:
    """What the SDK posts where these arguments are given, whatever their values.

    Args:
        completions: The class that has `create`.
        names: The arguments' names. It says itself which of them it does not know.
    """
    if (completions, names) not in _samples:
        request = await completions(_NoServer()).with_raw_response.create(**dict.fromkeys(names))
        _samples[completions, names] = request
    return _samples[completions, names]


class _NoServer:
    """In the place of the SDK's client: gives back what it is to post, and sends nothing."""

    async def post(self, path: str, *, body: dict[str, Any], **how: Any) -> Request:
        return Request(path, body, how)

    def __getattr__(self, name: str) -> None:
        """There are no other methods, for which it is only asked."""


def _has_news(model: Any, reply: Any) -> bool:
    """Whether LangChain keeps some of a reply's headers."""
    return model.include_response_headers or any(name.startswith("x-langsmith") for name in reply.headers)


def _read(reply: Any, kind: Any) -> Any:
    """What the SDK makes of a reply; in one go, which is cheaper, where all of it is as documented."""
    try:
        return kind.model_validate_json(reply.content, strict=True)
    except ValidationError:
        return reply.parse()


class _Sent:
    """In the place of the client's connection: what came of a request that was sent already."""

    reply: Any = None
    error: Exception

    @property
    def with_raw_response(self) -> "_Sent":
        return self

    async def create(self, **payload: Any) -> Any:
        if self.reply is None:
            raise self.error
        return self.reply
