"""The graph to chat with: Reflexion around a small agent that looks for answers on pages."""

from collections.abc import Mapping
from typing import Annotated, Any, cast

from langchain_core.messages import AnyMessage
from langgraph.graph.state import CompiledStateGraph
from pydantic import BaseModel, Field, create_model

from langgraph_reflexion.agents.state import AgentState
from langgraph_reflexion.agents.wrapped import WrappedAgent, task_from
from langgraph_reflexion.envs.base import Task
from langgraph_reflexion.envs.hotpotqa.environment import HotPotQA
from langgraph_reflexion.graph.reflexion import create_reflexion
from langgraph_reflexion.prompts import load_prompts
from langgraph_reflexion.state import ReflexionState
from langgraph_reflexion.studio.environments import PAGES
from langgraph_reflexion.studio.forms import under_way
from langgraph_reflexion.studio.reader import QUESTION, make_reader
from langgraph_reflexion.studio.served import Built, Outcome, Served, dressed
from langgraph_reflexion.studio.settings import Settings, like, prompt_fields, setting

TRIALS = 4
"""How many trials an answer gets; whoever waits for it in a chat will not wait for twelve."""
WORDS = {
    "act": "a small agent searches pages and answers: one call of it is one trial.",
    "observe": "what the agent did becomes the trajectory.",
    "evaluate": "a model reads the trajectory and passes the verdict; in the end, the best answer is given.",
}
"""What differs where the actor is an agent."""


class Said(BaseModel):
    """What is said to the agent."""

    messages: list[AnyMessage] = Field(
        title="Messages", description="The conversation. The last thing that a person says in it is the question."
    )


class Told(Outcome, total=False):
    """The conversation with the answer, and how it was come by."""

    messages: Annotated[
        list[AnyMessage], Field(description="The conversation. How its answer was come by is in that one's metadata.")
    ]


def settings_of_chat() -> type[Settings]:
    """What the chat can be set to."""
    prompts = load_prompts(HotPotQA.name)
    fields: dict[str, Any] = {
        "max_trials": like("max_trials", TRIALS),
        "pages": PAGES,
        "agent_prompt": (
            str,
            setting(
                prompts.text("setting").strip(),
                "Prompt: agent",
                "The system prompt of the agent that searches.",
                "act",
                prompt=True,
                max_length=50_000,
            ),
        ),
        **prompt_fields(prompts, ["reflect", "judge"]),
    }
    made: type[Settings] = create_model("ChatSettings", __base__=Settings, **fields)
    made.__doc__ = "What the graph is set to."
    return made


def served_chat() -> Served[Settings]:
    """The graph to chat with, for each of its settings."""
    settings_type = settings_of_chat()

    def build(settings: Settings) -> Built:
        chosen = cast(Any, settings)
        library = HotPotQA(pages=chosen.pages, seed=settings.seed)
        models = settings.models()
        reader: CompiledStateGraph[Any, Any, Any, Any] = make_reader(
            models["model"], library.pages(), chosen.agent_prompt
        )
        graph = create_reflexion(
            actor=WrappedAgent(reader, reflections="system"),
            evaluator="llm",
            strategy=settings.strategy,
            memory_size=settings.memory_size,
            max_trials=settings.max_trials,
            prompts=settings.prompts(load_prompts(HotPotQA.name)),
            approve_reflections=settings.approve_reflections,
            seed=settings.seed,
            **models,
        )
        whole = dressed(
            graph,
            settings.strategy,
            state=AgentState,
            form=Said,
            outcome=Told,
            settings=settings_type,
            task=question_in,
            words=WORDS,
        )
        return Built(whole.compile(name="chat"), library, whole.pool)

    return Served(settings_type, build)


def question_in(state: Mapping[str, Any]) -> Task | None:
    """The question that a run begins with; None where it goes on with the one that it has.

    Raises:
        ConfigurationError: nobody has said anything.
    """
    task = task_from(cast(ReflexionState, state))
    if "prepared" in task and under_way(state):
        return None
    asked = task["instruction"].removeprefix(QUESTION)
    return Task(id=task["id"], instruction=f"{QUESTION}{asked}", data=task.get("data", {}))
