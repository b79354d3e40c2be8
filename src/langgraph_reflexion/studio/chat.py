"""The graph to chat with: Reflexion around a small agent that finds answers on pages."""

from collections.abc import Mapping
from typing import Annotated, Any, cast

from langchain_core.messages import AnyMessage
from pydantic import BaseModel, Field

from langgraph_reflexion.agents.state import AgentState
from langgraph_reflexion.agents.wrapped import WrappedAgent, task_from
from langgraph_reflexion.envs.base import Task
from langgraph_reflexion.envs.hotpotqa.environment import HotPotQA
from langgraph_reflexion.profiles import load_profile
from langgraph_reflexion.prompts import load_prompts
from langgraph_reflexion.state import ReflexionState
from langgraph_reflexion.studio.forms import under_way
from langgraph_reflexion.studio.graphs import PAGES, BuiltGraph, Graphs, TaskOutput, with_form
from langgraph_reflexion.studio.qa_agent import QUESTION, make_qa_agent
from langgraph_reflexion.studio.settings import (
    LONGEST_PROMPT,
    SettingsForm,
    defaults_of,
    prompt_fields,
    setting,
    settings_form,
)

TRIALS = 4
"""Trials per answer. A person in a chat does not wait for twelve."""
DESCRIPTIONS = {
    "act": "Call a small agent that searches pages and answers. One call is one trial.",
    "observe": "Turn what the agent did into the trajectory.",
    "evaluate": "Let a model judge the trajectory; after the last trial, give the best answer.",
}
"""What differs because the actor is an agent."""


class ChatInput(BaseModel):
    """A message to the agent."""

    messages: list[AnyMessage] = Field(description="The conversation. Its last message by a person is the question.")


class ChatOutput(TaskOutput, total=False):
    """The conversation with the answer, and the trials that led to it."""

    messages: Annotated[
        list[AnyMessage], Field(description="The conversation. The answer's metadata say how it was found.")
    ]


def chat_graphs() -> Graphs[SettingsForm]:
    """Return the graphs to chat with."""
    prompts, rules = load_prompts(HotPotQA.name), load_profile("paper").resolve("agent")
    instructions = setting(
        prompts.text("setting").strip(),
        "The system prompt of the agent that searches.",
        "act",
        prompt=True,
        max_length=LONGEST_PROMPT,
    )
    form = settings_form(
        "ChatSettings",
        {**defaults_of(rules), "max_trials": TRIALS},
        without=["actor", "evaluator", "memory_map"],
        pages=PAGES,
        agent_prompt=(str, instructions),
        **prompt_fields(prompts, ["reflect", "judge"]),
    )

    def build(settings: SettingsForm) -> BuiltGraph:
        given, chosen = cast(Any, settings), settings.reflexion()
        library = HotPotQA(pages=given.pages, seed=chosen.seed)
        model = chosen.load(chosen.model)
        agent = make_qa_agent(model, library.pages(), given.agent_prompt)
        graph = chosen.build(
            None,
            prompts=settings.prompts(prompts),
            approval=settings.approval(),
            model=model,
            actor=WrappedAgent(agent, reflections="system"),
            evaluator="llm",
        )
        whole = with_form(graph, question_in, AgentState, form, ChatInput, ChatOutput, DESCRIPTIONS)
        return BuiltGraph(whole.compile(name="chat"), library, graph.pool)

    return Graphs(form, build)


def question_in(state: Mapping[str, Any]) -> Task | None:
    """Return the question that a run begins with, or None if the run continues its question.

    Raises:
        ConfigurationError: the conversation has no message by a person.
    """
    task = task_from(cast(ReflexionState, state))
    if "prepared" in task and under_way(state):
        return None
    asked = task["instruction"].removeprefix(QUESTION)
    return Task(id=task["id"], instruction=f"{QUESTION}{asked}", data=task.get("data", {}))
