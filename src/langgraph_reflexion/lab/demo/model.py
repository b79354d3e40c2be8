"""The demo model: rules instead of a language model, so that two worlds can be played without a key.

It plays households (ALFWorld), and questions and claims (HotPotQA, FEVER), and refuses everything else.

It is not a language model, and its results say nothing about one. But it plays by a language model's rules: it
sees the messages and nothing else, makes mistakes of its own accord, and learns between trials from nothing but
the reflections in its prompt.
"""

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from types import ModuleType
from typing import Any, ClassVar

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.utils.function_calling import convert_to_openai_tool

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.lab.demo.alfworld import rules as households
from langgraph_reflexion.lab.demo.hotpotqa import rules as questions
from langgraph_reflexion.lab.demo.persona import condensed, reply
from langgraph_reflexion.lab.demo.prompt import ParsedPrompt, read_prompt, split_notes, without_examples

CHARACTERS_PER_TOKEN = 4
"""Characters per token, for usage and budgets."""

SHOWN = 60
"""Characters of a prompt that an error quotes."""


ANOTHER_MODEL = (
    "name another model (--model), such as openai:gpt-4o-mini. One that you serve yourself needs no key: "
    "`ollama pull qwen2.5-coder:1.5b`, then --model openai:qwen2.5-coder:1.5b --base-url http://localhost:11434/v1 "
    "(in the repository: docs/howto/models.md)"
)
"""What to do where the demo model cannot play."""


class DemoChatModel(BaseChatModel):
    """A rule-based chat model for households and for questions. Deterministic: same messages and seed, same reply.

    Attributes:
        seed: Decides where the rules leave a choice.
        worlds: The environments that it has rules for.
    """

    seed: int = 0
    worlds: ClassVar[tuple[str, ...]] = ("alfworld", "hotpotqa", "fever")

    def expect_world(self, name: str) -> None:
        """Refuse an environment that there are no rules for.

        Args:
            name: The environment's name, or what is played in place of one ("agents of your own").

        Raises:
            ConfigurationError: there are no rules for it.
        """
        if name not in self.worlds:
            raise ConfigurationError(
                f"the demo model plays alfworld, hotpotqa and fever, not {name}: {ANOTHER_MODEL}"
            )

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
        tools = []
        for tool in kwargs.get("tools", ()):
            schema = convert_to_openai_tool(tool)
            tools.append(schema["function"]["name"])
        without_lessons, lessons = split_notes(without_examples(messages))
        prompt = replace(read_prompt(without_lessons, tools), recalled=lessons)
        seed = kwargs.get("seed", self.seed)
        answer = _answer(prompt, Random(seed), in_text=not tools)
        answer.usage_metadata = _usage(messages, answer)
        return ChatResult(generations=[ChatGeneration(message=answer)])


def _usage(messages: Sequence[BaseMessage], answer: AIMessage) -> UsageMetadata:
    characters = sum(len(message.text) for message in messages)
    read = characters // CHARACTERS_PER_TOKEN
    # An answer costs at least one token, also a call without text.
    written = len(answer.text) // CHARACTERS_PER_TOKEN + 1
    return UsageMetadata(input_tokens=read, output_tokens=written, total_tokens=read + written)


def _answer(prompt: ParsedPrompt, rng: Random, *, in_text: bool) -> AIMessage:
    if prompt.role == "condense":
        # Notes are condensed in the same way in every world, and the prompt does not say which it is.
        return AIMessage(condensed(prompt.reflections))
    world = _world_of(prompt)
    match prompt.role:
        case "learn":
            return AIMessage(world.learn(prompt))
        case "reflect":
            return AIMessage(world.reflect(prompt, rng))
        case "judge":
            return AIMessage(world.judge(prompt))
    return reply(prompt, world.act(prompt, rng), in_text=in_text)


def _world_of(prompt: ParsedPrompt) -> ModuleType:
    """Return the rules for what a prompt is about, by how its task begins.

    Raises:
        ConfigurationError: it is about something else.
    """
    for world in (questions, households):
        if world.recognises(prompt):
            return world
    one_line = " ".join(prompt.opening.split())
    begin = one_line[:SHOWN] or "nothing"
    raise ConfigurationError(
        f"the demo model plays households, questions and claims, and the prompt is about something else ({begin!r}): "
        f"{ANOTHER_MODEL}"
    )
