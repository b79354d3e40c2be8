"""Requests to a chat model: what is sent, and again without each option that its server refuses."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.errors import GraphBubbleUp

from langgraph_reflexion.errors import ModelFault, ReflexionError, ToolsRefused
from langgraph_reflexion.models.calls import note
from langgraph_reflexion.models.faults import is_bug, refused_option, to_fault
from langgraph_reflexion.models.limits import ReplyLimits
from langgraph_reflexion.models.replies import bounded, invalid_call, passing_reasoning, storable, with_content

HIGHER_TEMPERATURE = "a higher temperature"
"""What a server refuses that takes the model's own temperature, but not the one that a request asks for."""

EMPTY_LINES = "\n\n\n\n"
"""Where a reply with a tool call ends at the latest."""


class Request(NamedTuple):
    """A request to a model, in the terms of this package."""

    messages: list[BaseMessage]
    config: RunnableConfig
    stop: list[str] | None
    tools: Sequence[dict[str, Any]]
    limits: ReplyLimits | None
    """What limits the reply; None for no limit."""
    seed: int = 0
    temperature: float | None = None
    """The sampling temperature; None for the model's own."""
    schema: dict[str, Any] | None = None
    """The JSON schema of the reply, which servers hold to by a grammar; None for any text."""


class Requests:
    """Sends requests to a chat model, and learns which options its server refuses.

    Args:
        model: The chat model.
        refused: The options that are known to be refused. Further ones are added to this set.
        secrets: What no error may quote.
        own_server: Whether the model has a server of its own, and is not a provider's.
    """

    def __init__(self, model: BaseChatModel, refused: set[str], secrets: Sequence[str], *, own_server: bool) -> None:
        self._model: Any = model
        self._refused = refused
        self._secrets = secrets
        self._own_server = own_server
        self._fields = getattr(type(model), "model_fields", {})
        self._copy: Any = None
        self._copied_with: dict[str, Any] = {}
        # Ollama's client takes the seed with the model, not with a call.
        self._seed_is_field = type(model).__module__.startswith("langchain_ollama")

    def for_server(self, messages: list[BaseMessage]) -> list[BaseMessage]:
        """Return the messages as this model's server takes them."""
        if self._own_server:
            return with_content(messages)
        return messages

    async def send(self, request: Request) -> AIMessage:
        """Send the request, and again without each option that the server refuses.

        Raises:
            ContextTooLong: the prompt is too long.
            ToolsRefused: the server does not support tool calls.
            ModelFault: there is no reply.
        """
        options = self._options(request)
        reasoning = passing_reasoning(self._model, request.messages)
        messages = self.for_server(request.messages)
        without = set(self._refused)
        while True:
            if request.tools and "tools" in without:
                self._refused.add("tools")
                raise ToolsRefused("the model's server does not support tool calls")
            sent = {name: value for name, value in options.items() if name not in without}
            streams = "stream" not in without
            fields, passed = self._settings(sent, request.limits, streams=streams)
            # No `extra_body` is lost here: limits need one with OpenAI's integration only, and reasoning with
            # DeepSeek's only.
            passed = reasoning | passed
            model = self._with(fields)
            try:
                reply = await _bound(model, sent).ainvoke(messages, request.config, **passed)
            # LangGraph's own signals and this package's own errors pass as they are.
            except (GraphBubbleUp, ReflexionError):
                raise
            except Exception as error:
                if is_bug(error):
                    raise
                broken = invalid_call(error)
                if broken is not None:
                    note("a call's arguments were not a JSON object; what the reply has cost is unknown")
                    return broken
                refused = refused_option(error, list(sent))
                if refused is None:
                    raise to_fault(error, self._secrets) from error
                own = self._own_temperature
                if refused == "temperature" and own is not None and sent["temperature"] != own:
                    options["temperature"] = own
                    refused = HIGHER_TEMPERATURE
                without.add(refused)
            else:
                # A reply without these options shows that they were the reason.
                self._refused.update(without)
                return _checked(reply)

    def _options(self, request: Request) -> dict[str, Any]:
        """Return all options of the request, by the names that `refused_option` has for them."""
        options: dict[str, Any] = {}
        if "seed" in self._fields:
            options["seed"] = request.seed
        if request.stop:
            options["stop"] = request.stop
        if getattr(self._model, "streaming", False):
            options["stream"] = True
        if request.tools:
            # A provider's own models call tools by themselves, and forced they do so without a thought.
            if self._own_server:
                # Before `tools`: words that refuse a choice of tools match the pattern of tools as well.
                options["tool_choice"] = "any"
                # A small model that writes its call as text goes on with empty lines up to the limit of a reply.
                options.setdefault("stop", [EMPTY_LINES])
            options["tools"] = request.tools
        if request.schema is not None:
            options["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": "reply", "schema": request.schema, "strict": True},
            }
        temperature = self._own_temperature
        takes_another = "temperature" in self._fields and HIGHER_TEMPERATURE not in self._refused
        if request.temperature is not None and takes_another:
            temperature = request.temperature
        if temperature is not None:
            options["temperature"] = temperature
        if request.limits is not None:
            options["max_tokens"] = request.limits
        return options

    def _settings(
        self, sent: dict[str, Any], limits: ReplyLimits | None, *, streams: bool
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the options as the integration takes them: fields of the model, and arguments of the call."""
        fields: dict[str, Any] = {}
        if not streams:
            fields["streaming"] = False
        # Also where the server refuses a temperature: then the model's own one must not be sent.
        if sent.get("temperature") != self._own_temperature:
            fields["temperature"] = sent.get("temperature")
        passed: dict[str, Any] = {}
        if "seed" in sent and self._seed_is_field:
            fields["seed"] = sent["seed"]
        elif "seed" in sent:
            passed["seed"] = sent["seed"]
        if "stop" in sent:
            passed["stop"] = sent["stop"]
        if "max_tokens" in sent and limits is not None:
            fields.update(limits.fields)
            passed.update(limits.options)
        return fields, passed

    @property
    def _own_temperature(self) -> float | None:
        own: float | None = getattr(self._model, "temperature", None)
        return own

    def _with(self, fields: dict[str, Any]) -> Any:
        """Return the model with other values of some fields."""
        if not fields:
            return self._model
        # Kept for the next call, which mostly has the same: LangChain describes each copy anew to those who listen.
        if fields != self._copied_with:
            self._copy = self._model.model_copy(update=fields)
            self._copied_with = fields
        return self._copy


def _bound(model: Any, sent: dict[str, Any]) -> Any:
    """Return the model with the tools or the form of the reply that are sent, if any."""
    if "response_format" in sent:
        return model.bind(response_format=sent["response_format"])
    if "tools" not in sent:
        return model
    if "tool_choice" in sent:
        return model.bind_tools(sent["tools"], tool_choice=sent["tool_choice"])
    return model.bind_tools(sent["tools"])


def _checked(reply: Any) -> AIMessage:
    """Return a reply as the state can hold it."""
    if not isinstance(reply, AIMessage):
        raise ModelFault(f"the model's reply has the role of a {reply.type}")
    return storable(bounded(reply))
