import pytest

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.models.load import TIMEOUT_SECONDS, load_model
from langgraph_reflexion.support.secrets import public_url, secrets_of


@pytest.fixture(autouse=True)
def no_keys(monkeypatch):
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_BASE_URL", "AZURE_OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def test_a_name_with_a_provider_makes_its_model(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789")
    model = load_model("openai:gpt-4o-mini")
    settings = (model.model_name, model.temperature, model.request_timeout)
    assert settings == ("gpt-4o-mini", None, TIMEOUT_SECONDS)
    assert secrets_of(model) == ["sk-0123456789"]


def test_a_local_server_needs_no_key_and_is_given_one_that_is_set(monkeypatch):
    url = "http://localhost:11434/v1"
    model = load_model("openai:qwen2.5:7b", base_url=url)
    assert (model.model_name, model.openai_api_base, model.use_responses_api) == ("qwen2.5:7b", url, False)
    assert secrets_of(model, url) == []
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789")
    assert secrets_of(load_model("openai:m", base_url=url)) == ["sk-0123456789"]


def test_a_password_in_the_address_is_a_secret():
    url = "http://me:pa55word@localhost:1/v1"
    assert secrets_of(load_model("openai:m", base_url=url), url)[0] == "pa55word"
    assert public_url(url) == "http://localhost:1/v1"
    assert public_url(None) is None


@pytest.mark.parametrize(
    ("name", "url", "says"),
    [
        ("openai:gpt-4o-mini", None, "set OPENAI_API_KEY, .*--base-url.*demo"),
        ("nobody:gpt", None, "unknown provider.*openai:gpt-4o-mini"),
        ("openai:", None, "give a provider and its model"),
        ("perplexity:sonar", None, "pip install langchain-perplexity"),
        ("nothing.py:model", None, "there is no file"),
        (f"{__file__}:load_model", None, "give a provider and its model"),
        *(
            ("openai:m", url, "http://localhost:8000/v1")
            for url in ("localhost:8000", "http://[::1", "http://h:99999/")
        ),
    ],
)
def test_what_is_wrong_with_a_name_or_address_is_one_line(name, url, says):
    with pytest.raises(ConfigurationError, match=says) as caught:
        load_model(name, base_url=url)
    assert "\n" not in str(caught.value)
