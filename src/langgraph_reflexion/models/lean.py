"""OpenAI's client at half its price: neither are its prompts walked through, nor do its replies change threads.

Before the SDK sends a request it compares each argument, message and tool with all the types that these can have,
which changes nothing and costs as much CPU as all the rest of the call. Then it reads what came back field by field,
in a thread of a pool, which costs more than the reading. Here it is asked once what it would send for such arguments,
and that is sent with its own `post`, as it is. The client is the same otherwise, and so are its requests, its replies
and its errors. What streams, and what is not asked from a coroutine, goes the usual way.
"""

import inspect
from functools import cache
from types import FunctionType
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
            def as_ever(client: Any) -> Any:
                return send(client, messages, stop=stop, run_manager=run_manager, **options)

            payload = self._get_request_payload(messages, stop=stop, **options)
            post = await posted(self, payload)
            if post is None or self.include_response_headers or getattr(self, "_uses_gateway", False):
                return await as_ever(self)
            came = _Came()
            try:
                came.reply = await self.root_async_client.post(post.path, body=post.body, **post.how)
                return self._create_chat_result(_read(came.reply, post.how), {})
            except Exception as error:
                # LangChain has words of its own for what goes wrong: it is shown the same once more.
                came.error = error
                return await as_ever(self.model_copy(update={"async_client": came}))

    # LangChain looks at the arguments with each call.
    Lean._agenerate.__signature__ = inspect.signature(send)  # type: ignore[attr-defined]
    # Traces, caches and what is serialised know it by the name that it always had.
    Lean.__name__, Lean.__qualname__, Lean.__doc__ = client.__name__, client.__qualname__, client.__doc__
    return Lean


class Post(NamedTuple):
    """What the SDK hands to its client's `post`."""

    path: str
    body: dict[str, Any]
    how: dict[str, Any]
    """The other arguments."""


async def posted(model: Any, payload: Any) -> Post | None:
    """What the SDK would post; None where it has to see for itself.

    It has to where the answer is structured, as the SDK reads that with the request in hand; where the arguments hold
    more than JSON; and where they are not all for the server. Requests to the Responses API have no messages.

    Args:
        model: The client.
        payload: The arguments of `chat.completions.create`.
    """
    if not isinstance(payload, dict) or "response_format" in payload or payload.get("stream"):
        return None
    given = {name: value for name, value in payload.items() if name != "extra_body"}
    extra = payload.get("extra_body") or {}
    if not (type(given.get("messages")) is list and type(extra) is dict and _is_json(given) and _is_json(extra)):
        return None
    try:
        completions = model.async_client
        create = type(completions).create
        # Somebody may have put a function of their own there, to see what is asked.
        as_made = type(create) is FunctionType and create.__globals__["__name__"].startswith("openai.")
        if not as_made or model.root_async_client.chat.completions is not completions:
            return None
        asked = await _would_post(type(completions), frozenset(given))
    except (AttributeError, TypeError):
        return None
    if asked.body.keys() != given.keys():
        return None
    return asked._replace(body={**{name: given[name] for name in asked.body}, **extra})


_asked: dict[tuple[type, frozenset[str]], Post] = {}


async def _would_post(completions: type, names: frozenset[str]) -> Post:
    """What the SDK posts where these arguments are given, whatever they are."""
    if (completions, names) not in _asked:
        asked = completions(_Asked()).with_raw_response.create(**dict.fromkeys(names))
        _asked[completions, names] = await asked
    return _asked[completions, names]


class _Asked:
    """In the place of the SDK's client: says what it is to post."""

    async def post(self, path: str, *, body: dict[str, Any], **how: Any) -> Post:
        return Post(path, body, how)

    def __getattr__(self, name: str) -> None:
        """Has nothing else."""


def _read(reply: Any, how: dict[str, Any]) -> Any:
    """What the SDK makes of a reply; in one go where all of it is as documented."""
    try:
        return how["cast_to"].model_validate_json(reply.content, strict=True)
    except ValidationError:
        return reply.parse()


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
