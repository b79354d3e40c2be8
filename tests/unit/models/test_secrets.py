from base64 import b64encode

import pytest
from langchain_openai import ChatOpenAI

from langgraph_reflexion.support.secrets import redact, secrets_around, secrets_of


def model(key="any", base_url="http://127.0.0.1/v1"):
    return ChatOpenAI(model="any", api_key=key, base_url=base_url)


@pytest.mark.parametrize("key", ["short7x", "a-b1", "pw-1", "sk-very-secret-0123456789"])
def test_a_key_of_any_length_is_redacted(key, monkeypatch):
    monkeypatch.setenv("SOME_SERVICE_TOKEN", key)
    for secrets in (secrets_of(model(key)), secrets_around()):
        assert redact(f'the key {key!r} is wrong: "{key}", Bearer {key}.', secrets, "***").count("***") == 3


@pytest.mark.parametrize("key", ["none", "EMPTY", "any", "x", "1", "1234567", "not-needed"])
def test_a_placeholder_stays_as_the_word_that_it_is(key):
    assert secrets_of(model(key)) == []


def test_a_short_key_is_redacted_as_a_whole_word_only():
    assert redact("a1b2 xa1b2 a1b2c", secrets_of(model("a1b2")), "*") == "* xa1b2 a1b2c"


@pytest.mark.parametrize(
    ("user", "sent", "words"),
    [("me:p%40ss-1", b"me:p@ss-1", "p@ss-1 p%40ss-1"), ("token-1", b"token-1:", "token-1 token-1")],
    ids=["a password", "a token as the user"],
)
def test_a_password_is_redacted_as_clients_send_it(user, sent, words):
    secrets = secrets_of(model(base_url=f"http://{user}@127.0.0.1/v1"))
    said = redact(f"Basic {b64encode(sent).decode()} {words}", secrets, "***")
    assert said.replace("=", "") == "Basic *** *** ***"
