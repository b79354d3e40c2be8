import pytest

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.models.load import TIMEOUT_SECONDS, load_model
from langgraph_reflexion.models.secrets import public_url, secrets_of


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_BASE_URL", "AZURE_OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def test_a_name_with_a_provider_makes_its_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789")
    model = load_model("openai:gpt-4o-mini")
    assert model.model_name == "gpt-4o-mini"  # type: ignore[attr-defined]
    assert model.temperature is None  # type: ignore[attr-defined]
    assert model.request_timeout == TIMEOUT_SECONDS  # type: ignore[attr-defined]
    assert secrets_of(model) == ["sk-0123456789"]


def test_a_local_server_needs_no_key_and_is_given_one_that_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    model = load_model("openai:qwen2.5:7b", base_url="http://localhost:11434/v1")
    assert model.model_name == "qwen2.5:7b"  # type: ignore[attr-defined]
    assert model.openai_api_base == "http://localhost:11434/v1"  # type: ignore[attr-defined]
    assert model.use_responses_api is False  # type: ignore[attr-defined]
    assert secrets_of(model, "http://localhost:11434/v1") == []
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789")
    assert secrets_of(load_model("openai:m", base_url="http://localhost:1/v1")) == ["sk-0123456789"]


def test_a_password_in_the_address_is_a_secret() -> None:
    url = "http://me:pa55word@localhost:1/v1"
    assert secrets_of(load_model("openai:m", base_url=url), url)[0] == "pa55word"
    assert public_url(url) == "http://localhost:1/v1"
    assert public_url(None) is None


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("openai:gpt-4o-mini", "set OPENAI_API_KEY, .*--base-url.*demo"),
        ("nobody:gpt", "unknown provider.*openai:gpt-4o-mini"),
        ("openai:", "give a provider and its model"),
        ("perplexity:sonar", "pip install langchain-perplexity"),
        ("nothing.py:model", "there is no file"),
        (f"{__file__}:load_model", "give a provider and its model"),
    ],
)
def test_what_is_wrong_with_a_name_is_one_line(name: str, says: str) -> None:
    with pytest.raises(ConfigurationError, match=says) as caught:
        load_model(name)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("url", ["localhost:8000", "http://[::1", "http://host:99999/v1"])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(ConfigurationError, match="http://localhost:8000/v1"):
        load_model("openai:m", base_url=url)
