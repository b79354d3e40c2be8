"""Secrets that must never be written: keys, passwords, and addresses with passwords."""

import json
import os
import re
from base64 import b64encode
from collections.abc import Iterable
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, quote, unquote, urlsplit

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

LONG = 8
"""Characters from which on a secret is looked for within words, too."""

NO_KEY = "not-needed"
"""The placeholder key for local servers."""


def secrets_of(model: "BaseChatModel", base_url: str | None = None) -> list[str]:
    """Return a model's keys, and the passwords in its addresses and in `base_url`."""
    from pydantic import SecretStr

    fields = getattr(type(model), "model_fields", ())
    values = [getattr(model, field, None) for field in fields]
    values.append(base_url)
    keys: list[str] = []
    passwords: list[str] = []
    for value in values:
        if isinstance(value, SecretStr):
            keys.append(value.get_secret_value())
        elif isinstance(value, str) and "@" in value and "://" in value:
            passwords += _passwords(value)
    secrets = keys + passwords
    if type(model).__module__.startswith("langchain_ollama"):
        # Its client reads this key itself.
        secrets.append(os.environ.get("OLLAMA_API_KEY", ""))
    return [secret for secret in dict.fromkeys(secrets) if is_secret(secret)]


def secrets_around() -> list[str]:
    """Return the values of environment variables that look like keys, which errors of an agent may quote."""
    named = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD)$", re.IGNORECASE)
    values = [value for name, value in os.environ.items() if named.search(name)]
    return [value for value in values if is_secret(value)]


def is_secret(value: str) -> bool:
    """Return whether a value is more than a placeholder, such as `none` or `EMPTY`, which records may contain."""
    if value == NO_KEY:
        return False
    if len(value) >= LONG:
        return True
    # A short word is a placeholder, and a short number may be anything.
    has_letters = re.search("[a-zA-Z]", value) is not None
    has_others = re.search("[^a-zA-Z]", value) is not None
    return len(value) > 3 and has_letters and has_others


def redact(text: str, secrets: Iterable[str], blot: str) -> str:
    """Return a text with each secret, in any spelling, replaced by `blot`; a short one only as a whole word."""
    for secret in secrets:
        # The longest first: another one may be a part of it.
        for spelt in _spellings(secret):
            if len(spelt) >= LONG:
                text = text.replace(spelt, blot)
            elif spelt in text:
                text = re.sub(rf"(?<!\w){re.escape(spelt)}(?!\w)", lambda _: blot, text)
    return text


def _spellings(secret: str) -> list[str]:
    """Return a secret plain and as in JSON, URLs and `repr`, also without blanks around it; the longest first."""
    bare = secret.strip()
    spelt = {
        secret,
        bare,
        repr(bare)[1:-1],
        quote(bare),
        quote(bare, safe=""),
        json.dumps(bare)[1:-1],
        json.dumps(bare, ensure_ascii=False)[1:-1],
    }
    spelt.discard("")
    return sorted(spelt, key=len, reverse=True)


def _passwords(address: str) -> list[str]:
    """Return the password in an address, encoded, decoded, and as clients send it with the user.

    A user without a password is a token.
    """
    try:
        parts = urlsplit(address)
    except ValueError:
        return []
    user = parts.username or ""
    password = parts.password or ""
    secret = password or user
    # As in a header `Authorization: Basic`.
    credentials = f"{unquote(user)}:{unquote(password)}"
    sent = b64encode(credentials.encode()).decode().rstrip("=")
    return list(dict.fromkeys([secret, unquote(secret), sent]))


def public_url(base_url: str | None) -> str | None:
    """Return an address without user, password and query."""
    if base_url is None:
        return None
    parts = urlsplit(base_url)
    host = parts.netloc.rpartition("@")[2]
    return parts._replace(netloc=host, query="", fragment="").geturl()


def public_database(url: str | None) -> str | None:
    """Return the address of a database without passwords; user and options stay, as a connection needs them."""
    if url is None:
        return None
    address, _, query = url.partition("?")
    public = re.sub("//([^:/@]*):[^@]*@", r"//\1@", address)
    shown = [option for option in query.split("&") if option and not _is_password(option)]
    if not shown:
        return public
    options = "&".join(shown)
    return f"{public}?{options}"


def _is_password(option: str) -> bool:
    """Return whether an option of an address, such as `sslpassword=...`, is a password."""
    name = option.partition("=")[0]
    return "password" in name.lower()


def database_secrets(url: str | None) -> list[str]:
    """Return the passwords in the address of a database, encoded and decoded."""
    if url is None:
        return []
    parts = urlsplit(url)
    given = [value for name, value in parse_qsl(parts.query) if "password" in name.lower()]
    if parts.password:
        given.append(parts.password)
    secrets: list[str] = []
    for secret in given:
        secrets.append(secret)
        secrets.append(unquote(secret))
    return list(dict.fromkeys(secrets))
