"""The loader of chat models by name: the demo model, and every provider of LangChain's `init_chat_model`."""

import contextlib
import math
import os
import re
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from langgraph_reflexion.errors import ConfigurationError, did_you_mean
from langgraph_reflexion.models.connections import MessagesAsTheyAre
from langgraph_reflexion.support.objects import load_object, names_object
from langgraph_reflexion.support.secrets import NO_KEY

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

DEMO = "demo"
"""The name of the offline demo model, which is not an LLM."""
DEMO_MODEL = "langgraph_reflexion.lab.demo:DemoChatModel"
"""Its class, which is imported when it is asked for, as environments are."""
AGENTS_MODEL = "agent"
"""The model's name in the settings of a run if the agent's own model reflects."""

TIMEOUT_SECONDS = 120.0
"""Seconds that one call may take."""


class ModelUnavailable(ConfigurationError):
    """A model cannot be used here: its key or its package is missing."""


def load_model(
    name: str,
    *,
    base_url: str | None = None,
    timeout: float | None = None,
    temperature: float | None = None,
    http_async_client: Any = None,
) -> "BaseChatModel":
    """Load a chat model.

    Args:
        name: `demo`; provider and model as in `init_chat_model` (`openai:gpt-4o-mini`); or `FILE.py:NAME`, a model
            that a file makes, which keeps its own settings.
        base_url: The address of a server with the provider's protocol; for `openai:...`, of any OpenAI-compatible
            one. With it no key is needed, as local servers have none.
        timeout: Seconds that its client waits for each piece of a reply; `TIMEOUT_SECONDS` unless given. See also
            `ModelOptions.timeout`.
        temperature: The sampling temperature; the server's default unless given.
        http_async_client: The HTTP client of `openai:...` in coroutines. LangChain shares one among all models of the
            process, which breaks in a second event loop.

    Raises:
        ConfigurationError: there is no such model, or its key or package is missing.
    """
    if name == DEMO:
        demo_model = load_object(DEMO_MODEL, "the demo model")
        return _is_model(demo_model(), name)
    if in_file(name):
        return without_own_retries(_is_model(load_object(name, "the model"), name))
    provider, colon, model = name.partition(":")
    if not provider or (colon and not model):
        raise ConfigurationError(f"no model {name!r}: {_EXPECTED}")
    settings = _timeout(provider, timeout or TIMEOUT_SECONDS)
    # Some clients keep the number of retries that they were created with.
    settings["max_retries"] = 0
    if temperature is not None:
        settings["temperature"] = temperature
    if http_async_client is not None and provider == "openai":
        settings["http_async_client"] = http_async_client
    if base_url is not None:
        settings["base_url"] = _checked(base_url)
        if provider == "openai":
            settings.update(_for_compatible_server())
    made = without_own_retries(_is_model(_init(name, provider, settings), name))
    _set_up_client(made, provider)
    if http_async_client is not None and provider == "openai":
        # Only in a run: elsewhere, somebody may watch what the SDK is given.
        openai: Any = made
        openai.async_client = MessagesAsTheyAre(openai.async_client)
    return made


def _set_up_client(made: "BaseChatModel", provider: str) -> None:
    """Set what a client's own settings do not: other limits than `timeout`, and other retries than `max_retries`."""
    if hasattr(made, "stream_chunk_timeout"):
        # Another limit of OpenAI's client, which `timeout` does not change.
        made.stream_chunk_timeout = None
    if provider == "openrouter":
        # The integration does not pass `max_retries` to the SDK.
        openrouter: Any = made
        openrouter.client.sdk_configuration.retry_config = None


def _for_compatible_server() -> dict[str, Any]:
    """Return settings of OpenAI's integration for a server that is not OpenAI's."""
    settings: dict[str, Any] = {
        # Compatible servers rarely support the newer Responses API.
        "use_responses_api": False,
        # Otherwise streamed replies from custom addresses come without usage.
        "stream_usage": True,
        # Each piece of a reply is progress, by which a slow server differs from a silent one.
        "streaming": True,
    }
    if not os.environ.get("OPENAI_API_KEY"):
        settings["api_key"] = NO_KEY
    return settings


_EXPECTED = (
    "give a provider and its model, such as openai:gpt-4o-mini, a model's FILE.py:NAME, or demo, which needs no key"
)


def _timeout(provider: str, seconds: float) -> dict[str, Any]:
    """Return the timeout as the provider's client takes it."""
    match provider:
        case "ollama":
            return {"client_kwargs": {"timeout": seconds}}
        case "openrouter":
            return {"timeout": math.ceil(seconds * 1000)}
        case "mistralai" | "bedrock_converse":
            return {"timeout": math.ceil(seconds)}
    return {"timeout": seconds}


def name_of(model: "BaseChatModel") -> str:
    """Return a model's name on its server, or else its class."""
    for attribute in ("model_name", "model", "_llm_type"):
        name = getattr(model, attribute, None)
        if name:
            return str(name)
    return type(model).__name__


def in_file(name: str) -> bool:
    """Return whether a model's name is `FILE.py:NAME`."""
    return name.partition(":")[0].endswith(".py") and names_object(name)


def _is_model(found: Any, name: str) -> "BaseChatModel":
    from langchain_core.language_models import BaseChatModel

    if not isinstance(found, BaseChatModel):
        raise ConfigurationError(f"{name!r} is of type {type(found).__name__}, not a chat model: {_EXPECTED}")
    return found


def _init(name: str, provider: str, settings: dict[str, Any]) -> Any:
    from langchain.chat_models import init_chat_model
    from pydantic import SecretStr

    try:
        model = init_chat_model(name, **settings)
    except Exception as error:  # every provider's client has its own types
        raise _not_made(name, provider, error) from error
    # These clients can be created without a key, and the first call fails with an obscure error.
    for field in ("anthropic_api_key", "mistral_api_key"):
        key = getattr(model, field, NO_KEY)
        if isinstance(key, SecretStr):
            key = key.get_secret_value()
        if not key:
            raise _no_key(name, field.upper())
    return model


def _not_made(name: str, provider: str, error: Exception) -> ConfigurationError:
    """Say why LangChain cannot make a model. The error's text is never passed on, as it may quote the key."""
    said = str(error)
    if "infer model provider" in said:
        listed = re.search(r"Supported (?:model )?providers(?: are)?: ([\w, ]+)", said)
        hint = ""
        if listed:
            hint = did_you_mean(provider, listed[1].split(", "))
        return ConfigurationError(f"unknown provider in the model {name!r}{hint}: {_EXPECTED}")
    if isinstance(error, ImportError | AttributeError):
        package = f"langchain-{provider.replace('_', '-')}"
        named = re.search(r"pip install (?:-U )?[\"']?([\w-]+)", said)
        if named:
            package = named[1]
        return ModelUnavailable(f"the model {name!r} needs a package: pip install {package}")
    variable = re.search(r"\b[A-Z][A-Z0-9_]*_(?:API_)?(?:KEY|TOKEN)\b", said)
    if variable:
        return _no_key(name, variable[0])
    return ConfigurationError(f"the model {name!r} cannot be made: {type(error).__name__}")


def _no_key(name: str, variable: str) -> ModelUnavailable:
    return ModelUnavailable(
        f"no key for the model {name!r}: set {variable}, or give the base URL of a local server (--base-url; in "
        "Python, load_model(name, base_url=...)), or in alfworld, hotpotqa and fever use the model demo, which needs "
        "no key"
    )


def _checked(base_url: str) -> str:
    # `urlsplit`, and reading a port that is not a number or too large, raise one.
    with contextlib.suppress(ValueError):
        parts = urlsplit(base_url)
        if parts.scheme in ("http", "https") and parts.hostname and parts.port != 0:
            return base_url
    raise ConfigurationError("the base URL is invalid: write it as http://localhost:8000/v1")


def without_own_retries(model: "BaseChatModel") -> "BaseChatModel":
    """Return a copy of the model whose client does not retry, so that retries do not multiply."""
    # None is the client's own default.
    if getattr(model, "max_retries", 0) == 0:
        return model
    update: dict[str, Any] = {"max_retries": 0}
    for attribute in ("client", "async_client"):
        # The clients of OpenAI and Groq are created with the model and keep the number.
        made: Any = getattr(getattr(model, attribute, None), "_client", None)
        if hasattr(made, "with_options"):
            root = made.with_options(max_retries=0)
            update[attribute] = root.chat.completions
            if hasattr(model, f"root_{attribute}"):
                update[f"root_{attribute}"] = root
    copied = model.model_copy(update=update)
    for attribute in list(copied.__dict__):
        # Anthropic's clients are created at the first call and kept.
        if isinstance(getattr(type(model), attribute, None), cached_property):
            del copied.__dict__[attribute]
    return copied
