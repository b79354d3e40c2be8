"""reflect: a failed trial becomes a reflection."""

from dataclasses import dataclass

from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.runnables import RunnableConfig

from langgraph_reflexion.errors import ModelFault
from langgraph_reflexion.loop.profiles import Rules
from langgraph_reflexion.loop.prompting import Prompt, charging, drop_longest, for_record, opening_of, with_lessons
from langgraph_reflexion.memory import AgentMemory
from langgraph_reflexion.memory.episodic import status_line
from langgraph_reflexion.models.calls import CallId, as_data
from langgraph_reflexion.models.client import Client
from langgraph_reflexion.prompts import Prompts
from langgraph_reflexion.prompts.few_shot import few_shot_reflections, left_over
from langgraph_reflexion.state import Reflection, ReflexionState, Step, Update


@dataclass
class Reflect:
    """Turn task, trajectory, evaluation and memory into a reflection (M_sr, section 3 of the paper).

    The profile says how much of the evaluation, the trajectory and the memory the model sees.
    """

    client: Client
    prompts: Prompts
    memory: AgentMemory
    rules: Rules
    seed: int

    def prompt(self, state: ReflexionState) -> Prompt:
        """Return the prompt on the trial that failed."""
        fitting = self.prompts.reflections_on(state["task"].get("kind"))

        def render(steps: list[Step], left_out: int) -> list[BaseMessage]:
            examples, notes = left_over(fitting, state["reflections"], left_out)
            failed = self.prompts.render(
                "failed_trial",
                observation=opening_of(state, self.prompts),
                steps=drop_longest(steps, self.rules.truncation),
                status=status_line(state["evaluation"], self.rules.feedback),
                reflections=notes if self.rules.reflects_on_memory else [],
                memory_map=self.memory.map.text(state) if self.memory.map else "",
            )
            failed = with_lessons(failed, state, self.prompts)
            return [*few_shot_reflections(self.prompts, examples, self.rules.layout), HumanMessage(failed)]

        return Prompt(render, state["trajectory"])

    async def __call__(self, state: ReflexionState, config: RunnableConfig) -> Update:
        call = CallId(self.seed, state["task"]["id"], state["trial"], "reflect")
        update: Update = {}
        try:
            with charging(state, "reflect") as paid:
                reply = await self.prompt(state).ask(self.client, state["prompt_budget"], config, call)
                reflection = Reflection(trial=state["trial"], text=reply.text)
                update["reflections"] = await self.memory.reflections.add(state, reflection, config)
        except ModelFault as fault:
            words = as_data(fault)
            ended = state["status"] == "failed"  # nothing waits for the reflection on the last trial
            update = {"notes": [*state["notes"], words]} if ended else {"status": "fault", "fault": words}
        else:
            await self.memory.lessons.record_reflection(state, update["reflections"], config, approved=False)
        return update | {"trials": [{**state["trials"][-1], **for_record(paid)}], **paid}
