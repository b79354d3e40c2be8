"""The model calls of an agent with the middleware: the trial they belong to, and what they leave in its state."""

from typing import Any, cast

from langchain.agents.middleware.types import ExtendedModelResponse, ModelRequest, ModelResponse
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config, merge_configs
from langgraph.types import Command

from langgraph_reflexion.agents.middleware_state import MiddlewareState, ReflexionAgentState
from langgraph_reflexion.models.calls import TASK, TRIAL

Request = ModelRequest[Any]
Response = ModelResponse[Any] | ExtendedModelResponse[Any]


def own_of(request: Request) -> MiddlewareState:
    """Return the middleware's state in that of the agent."""
    return cast(ReflexionAgentState, request.state)["reflexion"]


def in_trial(request: Request) -> RunnableConfig:
    """Return the config of a model call, with the task and the trial in the metadata, which streams show."""
    trials = own_of(request)["trials"]
    metadata = {TASK: trials["task"]["id"], TRIAL: trials["trial"]}
    return merge_configs(ensure_config(), {"metadata": metadata})


def called(request: Request, response: ModelResponse[Any], model: str | None) -> Response:
    """Return the response, and record in the state that the model was called in this trial.

    Args:
        request: The call.
        response: Its response.
        model: The name of the agent's model; None if the state has it, or if another one reflects.
    """
    own = own_of(request)
    # An earlier call of the trial has recorded it.
    if own["called"] and model is None:
        return response
    now: MiddlewareState = {**own, "called": True}
    if model is not None:
        now["model"] = model
    return ExtendedModelResponse(response, Command(update={"reflexion": now}))
