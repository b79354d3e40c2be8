"""The graph to chat with: Reflexion around a small agent that finds answers on pages."""

from collections.abc import Mapping
from typing import Any, cast

from pydantic import BaseModel, Field

from langgraph_reflexion.agents.state import AgentState
from langgraph_reflexion.agents.world import AgentEnvironment
from langgraph_reflexion.conversation import task_from
from langgraph_reflexion.envs.base import Task
from langgraph_reflexion.envs.hotpotqa.environment import HotPotQA
from langgraph_reflexion.models.messages import Conversation
from langgraph_reflexion.profiles import load_profile
from langgraph_reflexion.prompts import load_prompts
from langgraph_reflexion.state import ReflexionState
from langgraph_reflexion.studio.forms import under_way
from langgraph_reflexion.studio.graphs import BuiltGraph, GraphFactory, with_form
from langgraph_reflexion.studio.qa_agent import QUESTION, make_qa_agent
from langgraph_reflexion.studio.settings import PAGES, SettingsForm, prompt_field, settings_form


class ChatInput(BaseModel):
    """A message to the agent."""

    messages: Conversation = Field(description="The conversation. Its last message by a person is the question.")


def chat_graphs() -> GraphFactory:
    """Return the factory of the graphs to chat with."""
    prompts = load_prompts(HotPotQA.name)
    form = settings_form(
        "ChatSettings",
        load_profile("paper").resolve(AgentEnvironment, max_trials=4),  # nobody in a chat waits for twelve
        prompts,
        without=["actor", "evaluator", "memory_map", "act_prompt"],
        pages=PAGES,
        agent_prompt=prompt_field(prompts.text("setting").strip(), "act", "The system prompt of the agent."),
    )

    def build(settings: SettingsForm) -> BuiltGraph:
        given, chosen = cast(Any, settings), settings.reflexion()
        library = HotPotQA(pages=given.pages, seed=chosen.seed)
        model = chosen.load(chosen.model)
        graph = chosen.build(
            None,
            prompts=settings.prompts(prompts),
            approval=settings.approval(),
            model=model,
            actor=make_qa_agent(model, library.pages(), given.agent_prompt),
            evaluator="llm",
        )
        whole = with_form(graph, question_in, form, ChatInput, AgentState)
        return BuiltGraph(whole.compile(name="chat"), library, graph.pool)

    return GraphFactory(form, build)


def question_in(state: Mapping[str, Any]) -> Task | None:
    """Return the question that a run begins with, or None if the run continues its question."""
    task = task_from(cast(ReflexionState, state), AgentEnvironment())
    if "prepared" in task and under_way(state):
        return None
    asked = task["instruction"].removeprefix(QUESTION)
    return Task(id=task["id"], instruction=f"{QUESTION}{asked}")
