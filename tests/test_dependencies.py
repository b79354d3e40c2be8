"""Names of dependencies that no public API gives: each test fails when one is gone."""

from typing import Any

from langchain.agents import create_agent
from langchain_core.callbacks import BaseCallbackHandler

from langgraph_reflexion.agents.nodes import AGENT_NAME
from langgraph_reflexion.testing import ScriptedChatModel


class Metadata(BaseCallbackHandler):
    """Keeps the metadata of model calls."""

    def __init__(self) -> None:
        self.seen: list[dict[str, Any]] = []

    def on_chat_model_start(self, *args: Any, metadata: dict[str, Any] | None = None, **more: Any) -> None:
        self.seen.append(metadata or {})


def test_langchain_puts_an_agents_name_under_this_key() -> None:
    metadata = Metadata()
    agent = create_agent(ScriptedChatModel(replies=["Hello."], callbacks=[metadata]), [], name="helper")
    agent.invoke({"messages": [("user", "Hi.")]})
    assert [each[AGENT_NAME] for each in metadata.seen] == ["helper"]
