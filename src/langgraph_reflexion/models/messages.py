"""A conversation in a graph's state."""

from typing import Annotated

from langchain_core.messages import AnyMessage
from langgraph.graph.message import add_messages
from pydantic import WithJsonSchema

Conversation = Annotated[
    list[AnyMessage],
    WithJsonSchema(
        {
            "type": "array",
            "description": "The conversation around the task. The answer is added to it at the end.",
            "items": {
                "type": "object",
                "properties": {"role": {"enum": ["user", "assistant", "system"]}, "content": {"type": "string"}},
                "required": ["role", "content"],
            },
        }
    ),
    add_messages,
]
"""Messages that are added to the earlier ones. Their JSON schema is the form that people write, and not all of
LangChain's in 20 KB."""
