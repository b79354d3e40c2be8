"""Chat models by name: the demo model, and everything that LangChain's `init_chat_model` knows."""

import contextlib
import math
import os
import re
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.models.secrets import NO_KEY, public_url

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

DEMO = "demo"
"""The name of the offline demo model, which is not an LLM."""

TIMEOUT_SECONDS = 120.0
"""How long one call may take; the client's own default is ten minutes."""


class ModelUnavailable(ConfigurationError):
    """A model cannot be used on this machine: its key or its package is missing."""


def load_model(
    name: str,
    *,
    base_url: str | None = None,
    timeout: float | None = None,
    temperature: float | None = None,
    http_async_client: Any = None,
) -> "BaseChatModel":
    """Make a chat model.

    Args:
        name: `demo`, or a provider and its model as `init_chat_model` takes them (`openai:gpt-4o-mini`).
        base_url: The address of a server that speaks the provider's protocol, for `openai:...` any
            OpenAI-compatible one. With it a missing key is no error, as local servers want none.
        timeout: How many seconds one call may take; `TIMEOUT_SECONDS` unless given.
        temperature: How random the answers are; the server's own choice unless given.
        http_async_client: The connections of `openai:...` in coroutines. LangChain's own are shared by all models of
            the process and break when a second event loop uses them.

    Raises:
        ConfigurationError: there is no such model, its key or its integration package is missing.
    """
    if name == DEMO:
        from langgraph_reflexion.demo import DemoChatModel

        return DemoChatModel()
    provider, _, model = name.partition(":")
    if not provider or (":" in name and not model):
        raise ConfigurationError(f"no model {name!r}: {_EXPECTED}")
    # What a client has made of its number of retries when it was made, some keep.
    settings: dict[str, Any] = {"max_retries": 0, **_timeout(provider, timeout or TIMEOUT_SECONDS)}
    if temperature is not None:
        settings["temperature"] = temperature
    if http_async_client is not None and provider == "openai":
        settings["http_async_client"] = http_async_client
    if base_url is not None:
        settings["base_url"] = _checked(base_url)
        if provider == "openai":
            # Servers that imitate OpenAI know the chat completions, seldom the newer Responses API.
            settings["use_responses_api"] = False
            # Otherwise a streamed answer to a custom address comes without an account of its tokens.
            settings["stream_usage"] = True
            if not os.environ.get("OPENAI_API_KEY"):
                settings["api_key"] = NO_KEY
    made = without_own_retries(_init(name, provider, settings))
    if provider == "openrouter":
        # Its SDK has retries of its own unless it is told otherwise, and the integration does not tell it.
        made.client.sdk_configuration.retry_config = None  # type: ignore[attr-defined]
    return made


_EXPECTED = "give a provider and its model, such as openai:gpt-4o-mini, or demo, which needs no key"


def _timeout(provider: str, seconds: float) -> dict[str, Any]:
    """How a provider's client is told how long a call may take."""
    match provider:
        case "ollama":
            return {"client_kwargs": {"timeout": seconds}}
        case "openrouter":
            return {"timeout": math.ceil(seconds * 1000)}
        case "mistralai" | "bedrock_converse":
            return {"timeout": math.ceil(seconds)}
    return {"timeout": seconds}


def _init(name: str, provider: str, settings: dict[str, Any]) -> "BaseChatModel":
    from langchain.chat_models import init_chat_model
    from langchain_core.language_models import BaseChatModel
    from pydantic import SecretStr

    try:
        model = init_chat_model(name, **settings)
    except Exception as error:  # every provider's client has its own kinds
        # What it says is looked at and never passed on, as some errors quote the key.
        said = str(error)
        if "infer model provider" in said:
            raise ConfigurationError(f"unknown provider in the model {name!r}: {_EXPECTED}") from error
        if isinstance(error, (ImportError, AttributeError)):
            named = re.search(r"pip install (?:-U )?[\"']?([\w-]+)", said)
            package = named[1] if named else f"langchain-{provider.replace('_', '-')}"
            raise ModelUnavailable(f"the model {name!r} needs a package: pip install {package}") from error
        if keys := re.findall(r"\b[A-Z][A-Z0-9_]*_(?:API_)?(?:KEY|TOKEN)\b", said):
            raise _no_key(name, keys[0]) from error
        raise ConfigurationError(f"the model {name!r} cannot be made: {type(error).__name__}") from error
    if not isinstance(model, BaseChatModel):
        raise ConfigurationError(f"no model {name!r}: {_EXPECTED}")
    for field in ("anthropic_api_key", "mistral_api_key"):
        # These clients are made without a key, and the first call fails in odd words.
        key = getattr(model, field, NO_KEY)
        if not (key.get_secret_value() if isinstance(key, SecretStr) else key):
            raise _no_key(name, field.upper())
    return model


def _no_key(name: str, variable: str) -> ModelUnavailable:
    return ModelUnavailable(
        f"no key for the model {name!r}: set {variable}, or use --base-url for a local server, "
        "or --model demo, which needs no key"
    )


def _checked(base_url: str) -> str:
    good, shown = False, ""
    with contextlib.suppress(ValueError):
        parts = urlsplit(base_url)
        shown = f" {public_url(base_url)!r}"
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    if not good:
        raise ConfigurationError(f"the base URL{shown} is no address: write it as http://localhost:8000/v1")
    return base_url


def without_own_retries(model: "BaseChatModel") -> "BaseChatModel":
    """The same model with a client that asks once, so that retries do not multiply.

    Args:
        model: The model; it stays as it is.
    """
    # None is the client's own default.
    if getattr(model, "max_retries", 0) == 0:
        return model
    update: dict[str, Any] = {"max_retries": 0}
    for attribute in ("client", "async_client"):
        # The clients of OpenAI and Groq are made together with the model, and hold the number themselves.
        made: Any = getattr(getattr(model, attribute, None), "_client", None)
        if hasattr(made, "with_options"):
            root = made.with_options(max_retries=0)
            update[attribute] = root.chat.completions
            if hasattr(model, f"root_{attribute}"):
                update[f"root_{attribute}"] = root
    copied = model.model_copy(update=update)
    for attribute in list(copied.__dict__):
        # Anthropic's clients are made at the first call, and kept.
        if isinstance(getattr(type(model), attribute, None), cached_property):
            del copied.__dict__[attribute]
    return copied
