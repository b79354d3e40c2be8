"""Inspect's models as a LangChain chat model: any provider that Inspect knows, by its limits, logs and accounts."""

from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from typing import Any

from inspect_ai.model import GenerateConfig, get_model
from inspect_ai.util import LimitExceededError
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.utils.function_calling import convert_to_openai_tool

from langgraph_reflexion.adapters.inspect.messages import (
    choice_to_inspect,
    to_inspect,
    to_langchain,
    tools_to_inspect,
)
from langgraph_reflexion.errors import ConfigurationError, ContextTooLong, ModelFault, ReflexionError
from langgraph_reflexion.models.faults import as_fault, refused_option
from langgraph_reflexion.models.secrets import secrets_around

PLACE: ContextVar[Mapping[str, Any] | None] = ContextVar("reflexion_place", default=None)
"""The place in the run of the call that is under way (`models.calls`), for providers that answer by it."""


class LimitReached(ReflexionError):
    """A limit of Inspect's ended the sample. Nodes let it through, as it is no fault of anybody's.

    Attributes:
        limit: What Inspect raised.
    """

    def __init__(self, limit: LimitExceededError) -> None:
        super().__init__(str(limit))
        self.limit = limit


class InspectChatModel(BaseChatModel):
    """Answers with a model of Inspect's, in a running evaluation. Asynchronous: `ainvoke`.

    Its calls are in the sample's transcript, count against its limits, and are tried again by Inspect. What the
    evaluation says of generation (`--temperature`, `--max-tokens`, ...) holds, unless it is set here or with a call.

    Attributes:
        model: A model by its name in Inspect, such as `openai/gpt-4o`.
        role: A model role (`--model-role reflector=...`); where the evaluation binds none of that name, its model.
            Without name and role: the evaluation's model.
        temperature: How random the answers are.
        seed: Which sample is drawn, where a provider takes one.
        max_tokens: How long an answer may be.
    """

    model: str | None = None
    role: str | None = None
    temperature: float | None = None
    seed: int | None = None
    max_tokens: int | None = None

    @property
    def _llm_type(self) -> str:
        return "inspect"

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return {"model": self.model, "role": self.role}

    def bind_tools(
        self, tools: Sequence[Any], *, tool_choice: Any = None, **kwargs: Any
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """The model with tools that it may call."""
        if tool_choice is not None:
            kwargs["tool_choice"] = tool_choice
        return self.bind(tools=[convert_to_openai_tool(each) for each in tools], **kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        raise ConfigurationError("Inspect's models answer only asynchronous calls: use ainvoke")

    async def _agenerate(
        self, messages: list[BaseMessage], stop: list[str] | None = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        tools = kwargs.get("tools", ())
        config = GenerateConfig(
            stop_seqs=stop,
            seed=kwargs.get("seed", self.seed),
            temperature=kwargs.get("temperature", self.temperature),
            max_tokens=kwargs.get("max_tokens", self.max_tokens),
        )
        place = PLACE.set(run_manager.metadata if run_manager else None)
        try:
            output = await get_model(self.model, role=self.role).generate(
                await to_inspect(messages),
                tools=tools_to_inspect(tools),
                tool_choice=choice_to_inspect(kwargs.get("tool_choice")),
                config=config,
            )
        except LimitExceededError as limit:
            raise LimitReached(limit) from limit
        except ReflexionError:
            raise
        except Exception as error:
            sent = [name for name, value in (("stop", stop), ("seed", config.seed), ("tools", tools)) if value]
            if refused_option(error, sent):
                raise
            # Inspect has retried as often as it was configured to, so the graph must not.
            fault = as_fault(error, secrets_around())
            fault.transient = False
            raise fault from error
        finally:
            PLACE.reset(place)
        if not output.empty and output.stop_reason == "model_length":
            raise ContextTooLong(f"the prompt is too long for the context of {output.model}")
        if output.error:
            raise ModelFault(f"the model could not answer: {output.error[:300]}", transient=False)
        return ChatResult(generations=[ChatGeneration(message=to_langchain(output))])
