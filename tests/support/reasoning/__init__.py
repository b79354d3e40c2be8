"""Servers on loopback that enforce the providers' rules on reasoning."""

from tests.support.reasoning.anthropic import AnthropicServer
from tests.support.reasoning.base import ReasoningServer
from tests.support.reasoning.openai import DeepSeekServer, KimiServer, ResponsesServer
from tests.support.reasoning.others import GeminiServer, OllamaServer

__all__ = ["SERVERS", "ReasoningServer"]

SERVERS = {
    "anthropic": (AnthropicServer, "langchain_anthropic"),
    "openai": (ResponsesServer, "langchain_openai"),
    "gemini": (GeminiServer, "langchain_google_genai"),
    "deepseek": (DeepSeekServer, "langchain_deepseek"),
    "kimi": (KimiServer, "langchain_deepseek"),
    "ollama": (OllamaServer, "langchain_ollama"),
}
"""The servers, each with the package of the client that calls it."""
