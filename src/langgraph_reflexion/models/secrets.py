"""What must never be written down: keys, passwords, and the addresses that hold them."""

import re
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, unquote, urlsplit

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

NO_KEY = "not-needed"
"""What local servers are given in place of a key."""


def secrets_of(model: "BaseChatModel", base_url: str | None = None) -> list[str]:
    """What must never be written down: the model's keys, and a password in its address.

    Args:
        model: The model.
        base_url: The address that it was made with.
    """
    from pydantic import SecretStr

    values = [getattr(model, field) for field in type(model).model_fields]
    secrets = [value.get_secret_value() for value in values if isinstance(value, SecretStr)]
    if base_url and (password := urlsplit(base_url).password):
        secrets.append(password)
    # A placeholder such as "none" is no secret, and taking it out would take the word out everywhere.
    return [secret for secret in secrets if len(secret) >= 8 and secret != NO_KEY]


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
