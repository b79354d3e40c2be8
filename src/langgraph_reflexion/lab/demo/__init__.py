"""The demo model: rules instead of a language model, so that everything runs without a key.

It is not a language model, and its results say nothing about one. But it plays by a language model's rules: it
sees the messages and nothing else, makes mistakes of its own accord, and learns between trials from nothing but
the reflections in its prompt.
"""

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.utils.function_calling import convert_to_openai_tool

from langgraph_reflexion.lab.demo import alfworld, hotpotqa, programming, webshop, workspace
from langgraph_reflexion.lab.demo.persona import condensed, reply, retold
from langgraph_reflexion.lab.demo.programming import read_assignment
from langgraph_reflexion.lab.demo.prompt import Prompt, read_prompt, split_notes, without_examples

CHARACTERS_PER_TOKEN = 4
"""Characters per token, for usage and budgets."""


class DemoChatModel(BaseChatModel):
    """A rule-based chat model for the environments that ship. Deterministic: same messages and seed, same reply.

    Attributes:
        seed: Decides where the rules leave a choice.
    """

    seed: int = 0

    @property
    def _llm_type(self) -> str:
        return "langgraph-reflexion-demo"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Runnable[LanguageModelInput, AIMessage]:
        return self.bind(tools=tools, **kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        tools = [convert_to_openai_tool(tool)["function"]["name"] for tool in kwargs.get("tools", ())]
        own, lessons = split_notes(without_examples(messages))
        prompt = replace(read_prompt(own, tools), recalled=lessons)
        seed = kwargs.get("seed", self.seed)
        assignment = read_assignment(own)
        if assignment and prompt.role not in ("condense", "learn"):
            said = programming.answer(assignment, Random(seed), allowed=prompt.allowed, in_text=not tools)
        else:
            said = _answer(prompt, Random(seed), in_text=not tools, retells=assignment is not None)
        read = sum(len(message.text) for message in messages) // CHARACTERS_PER_TOKEN
        wrote = len(said.text) // CHARACTERS_PER_TOKEN + 1
        said.usage_metadata = UsageMetadata(input_tokens=read, output_tokens=wrote, total_tokens=read + wrote)
        return ChatResult(generations=[ChatGeneration(message=said)])


def _answer(prompt: Prompt, rng: Random, *, in_text: bool, retells: bool) -> AIMessage:
    world = next((each for each in (workspace, hotpotqa, webshop) if each.recognises(prompt)), alfworld)
    match prompt.role:
        case "condense":
            return AIMessage(condensed(prompt.reflections))
        case "learn":
            retells |= world in (workspace, webshop)
            return AIMessage(retold(prompt.turns) if retells else world.learn(prompt))
        case "reflect":
            return AIMessage(world.reflect(prompt, rng))
        case "judge":
            return AIMessage(world.judge(prompt))
    return reply(prompt, world.act(prompt, rng), in_text=in_text)


__all__ = ["DemoChatModel"]
