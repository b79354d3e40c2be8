"""What must never be written down: keys, passwords, and the addresses that hold them."""

import json
import os
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, quote, unquote, urlsplit

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

NO_KEY = "not-needed"
"""What local servers are given in place of a key."""


def secrets_of(model: "BaseChatModel", base_url: str | None = None) -> list[str]:
    """What must never be written down: the model's keys, and the passwords in its addresses.

    Args:
        model: The model.
        base_url: The address that it was made with, where the model does not say.
    """
    from pydantic import SecretStr

    values = [*(getattr(model, field, None) for field in getattr(type(model), "model_fields", ())), base_url]
    secrets = [value.get_secret_value() for value in values if isinstance(value, SecretStr)]
    for address in (value for value in values if isinstance(value, str) and "@" in value and "://" in value):
        secrets += _passwords(address)
    if type(model).__module__.startswith("langchain_ollama"):
        # Its client reads the key of the hosted service for itself.
        secrets.append(os.environ.get("OLLAMA_API_KEY", ""))
    # A placeholder such as "none" is no secret, and taking it out would take the word out everywhere.
    return [secret for secret in dict.fromkeys(secrets) if len(secret) >= 8 and secret != NO_KEY]


def secrets_around() -> list[str]:
    """The values of the environment variables that look like keys: what an agent's own errors may quote."""
    named = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD)$", re.IGNORECASE)
    return [value for name, value in os.environ.items() if named.search(name) and len(value) >= 8 and value != NO_KEY]


def blotted(text: str, secrets: Iterable[str], blot: str) -> str:
    """A text without secrets, however they are spelt in it.

    Args:
        text: The text.
        secrets: What is taken out.
        blot: What is put in its place.
    """
    for secret in secrets:
        for spelt in _spellings(secret):
            text = text.replace(spelt, blot)
    return text


def _spellings(secret: str) -> list[str]:
    """A secret as it is, and as JSON, addresses and `repr` have it; the longest first."""
    # What was copied with a blank around it comes back without.
    bare = secret.strip()
    spelt = {secret, bare, repr(bare)[1:-1], quote(bare), quote(bare, safe="")}
    spelt |= {json.dumps(bare, ensure_ascii=ascii)[1:-1] for ascii in (True, False)}
    return sorted(spelt - {""}, key=len, reverse=True)


def _passwords(address: str) -> list[str]:
    """The password in an address, as it is written there and as it is meant."""
    try:
        password = urlsplit(address).password or ""
    except ValueError:
        return []
    return list(dict.fromkeys([password, unquote(password)]))


def public_url(base_url: str | None) -> str | None:
    """An address without the user, password and query that it may hold."""
    if base_url is None:
        return None
    parts = urlsplit(base_url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()


def public_database(url: str | None) -> str | None:
    """The address of a database without its passwords; user and options stay, as nothing is reached without them."""
    if url is None:
        return None
    address, _, query = url.partition("?")
    shown = [option for option in query.split("&") if option and "password" not in option.partition("=")[0].lower()]
    return "?".join([re.sub("//([^:/@]*):[^@]*@", r"//\1@", address), *filter(None, ["&".join(shown)])])


def database_secrets(url: str | None) -> list[str]:
    """The passwords in the address of a database, as they are written there and as they are meant."""
    if url is None:
        return []
    parts = urlsplit(url)
    given = [value for name, value in parse_qsl(parts.query) if "password" in name.lower()]
    given += [parts.password] if parts.password else []
    return list({secret: None for each in given for secret in (each, unquote(each))})
