"""The strategy `continue` around an agent: its conversation goes on with what the check said."""

from collections.abc import Collection, Sequence
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from langgraph_reflexion.agents.wrapped import WrappedAgent
from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.loop.profiles import Rules
from langgraph_reflexion.loop.prompting import with_facts
from langgraph_reflexion.memory.failure import check_words
from langgraph_reflexion.prompts import Prompts
from langgraph_reflexion.state import Attempt, ContinuedTrial, EpisodeState, ReflexionState
from langgraph_reflexion.support.text import as_text

NOT_CALLED = "Not done: the attempt was stopped before this call."
"""The result of a call whose trial was stopped before it: providers require one for each call."""


def expect_conversations(agents: Sequence[WrappedAgent]) -> None:
    """Expect agents that can go on: the same ones in all trials, which take a conversation.

    Raises:
        ConfigurationError: an agent is made anew for each trial, or takes a text.
    """
    instead = "choose another strategy, such as 'feedback', which begins afresh with what the check said"
    for agent in agents:
        if agent.make:
            raise ConfigurationError(
                "strategy='continue' goes on with the same agent and world, and make= makes new ones for each trial: "
                f"give the agent itself, or {instead}"
            )
        takes_conversation = agent.make_input is None and agent.form.kind in ("state", "messages")
        if not takes_conversation:
            raise ConfigurationError(
                f"strategy='continue' goes on with the conversation, and this agent takes no messages: {instead}"
            )


def said_since(state: ReflexionState, prompts: Prompts, rules: Rules) -> list[AnyMessage]:
    """Return what follows the task in an agent's conversation: its earlier trials, each with what the check said.

    Args:
        state: The state, with the trials that this one continues.
        prompts: The templates.
        rules: How much of an evaluation is shown.
    """
    said: list[AnyMessage] = []
    for trial in state.get("continued", []):
        said += trial.get("messages", [])
        said.append(_told(trial, prompts, rules))
    return said


def _told(trial: ContinuedTrial, prompts: Prompts, rules: Rules) -> HumanMessage:
    """Return the message after a trial that was not accepted."""
    evaluation = trial["evaluation"]
    words = prompts.render(
        "go_on",
        check=check_words(evaluation, rules.feedback),
        unjudged=evaluation.get("unverified", False),
    )
    words = with_facts(words, trial["facts"], prompts)
    return HumanMessage(words, id=f"{trial['episode']['task']}:{trial['trial']}:check")


def continued_by(
    trial: ContinuedTrial, attempt: Attempt, world: dict[str, Any] | None, own_keys: Collection[str]
) -> ContinuedTrial:
    """Return an agent's trial with what the next one goes on with: its messages, its state and its world.

    Args:
        trial: The trial.
        attempt: What the agent did in it.
        world: The saved world, if there is one.
        own_keys: The keys of the agent's own state.
    """
    changed = trial.copy()
    changed["messages"] = _with_ids(_with_results(attempt, trial["trial"]), trial)
    left = {key: value for key, value in attempt["state"].items() if key in own_keys}
    state = state_after(trial["episode"], left)
    changed["episode"] = trial["episode"].copy()
    changed["episode"]["snapshot"] = {"state": state, "world": world}
    return changed


def state_after(episode: EpisodeState, left: dict[str, Any]) -> dict[str, Any]:
    """Return the agents' state after a trial: what its agent has left, and the keys that this agent does not have.

    Args:
        episode: The trial's episode, with the state in which it began.
        left: The state that its agent has left.
    """
    begun = episode["snapshot"] or {}
    return {**begun.get("state", {}), **left}


def _with_ids(messages: Sequence[AnyMessage], trial: ContinuedTrial) -> list[AnyMessage]:
    """Give every message of a trial an id, so that the next trial's messages are not mistaken for them."""
    task = trial["episode"]["task"]
    known: list[AnyMessage] = []
    for number, message in enumerate(messages, 1):
        if not message.id:
            made = f"{task}:{trial['trial']}:{number}"
            message = message.model_copy(update={"id": made})
        known.append(message)
    return known


def _with_results(attempt: Attempt, trial: int) -> list[AnyMessage]:
    """Return the messages of a trial, with a result for each call of a tool."""
    messages = list(attempt["messages"])
    if not messages:
        # A function may return a text, and no messages.
        return [AIMessage(as_text(attempt["result"]))]
    complete: list[AnyMessage] = []
    # Some servers give calls of different messages the same id, so results are looked for right after their calls.
    open_calls: list[str] = []
    for message in messages:
        if isinstance(message, ToolMessage):
            if message.tool_call_id in open_calls:
                open_calls.remove(message.tool_call_id)
        else:
            complete += _not_called(open_calls, trial)
            open_calls = []
        if isinstance(message, AIMessage):
            # Calls whose arguments are not JSON are sent, too.
            calls = [*message.tool_calls, *message.invalid_tool_calls]
            open_calls = [call["id"] or "" for call in calls]
        complete.append(message)
    return complete + _not_called(open_calls, trial)


def _not_called(calls: Sequence[str], trial: int) -> list[AnyMessage]:
    """Return a result for each call that has none."""
    # A trial ends with its first calls that are not made, so the trial tells them from those of another.
    return [ToolMessage(NOT_CALLED, tool_call_id=call, id=f"{call}:not called:{trial}") for call in calls]
