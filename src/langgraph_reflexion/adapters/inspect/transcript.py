"""The graph's progress in Inspect's transcript and conversation, for the viewer."""

from collections.abc import Mapping
from typing import Any

from inspect_ai.agent import AgentState
from inspect_ai.log import transcript
from inspect_ai.model import ChatMessageAssistant, ChatMessageTool, ChatMessageUser
from inspect_ai.tool import ToolCall
from langgraph.types import Overwrite

from langgraph_reflexion.evaluators.base import as_text
from langgraph_reflexion.experiments.task_run import Graph, TaskRun
from langgraph_reflexion.state import Step


class TranscriptRun(TaskRun):
    """A task's run that writes to the transcript and to the conversation in `state`.

    Attributes:
        result: The best trial's result so far, if the actor is a wrapped agent.
    """

    def __init__(self, graph: Graph, *args: Any, state: AgentState, **options: Any) -> None:
        super().__init__(graph, *args, **options)
        self._state = state
        self._trial = 0
        self.result = ""

    def _watch(self, node: str, written: dict[str, Any]) -> None:
        match node, written:
            case "reset", {"episode": Mapping() as episode}:
                self._opened(written.get("trial", self._trial), episode["observation"])
            case "observe", {"trajectory": Overwrite(value=steps) | list(steps)}:
                for step in steps:
                    self._step(step)
            case "evaluate", {"trials": [*_, record]}:
                self.result = as_text(written.get("result"))
                self._judged(record, written.get("evaluation"))
            case "reflect", {"reflections": [*_, reflection]}:
                self._reflected(reflection["text"])

    def _opened(self, trial: int, observation: str) -> None:
        self._trial = trial
        self._info("observation", observation)
        self._state.messages.append(ChatMessageUser(content=f"Trial {trial}\n\n{observation}"))

    def _step(self, step: Step) -> None:
        self._info("observation", step["observation"])
        action = step["action"]
        if action is None or not action["name"]:
            said = "\n".join(filter(None, [step["thought"], action["text"] if action else ""]))
            self._state.messages.append(ChatMessageAssistant(content=said))
            self._state.messages.append(ChatMessageUser(content=step["observation"]))
            return
        call = ToolCall(
            id=f"trial-{self._trial}-step-{step['number']}", function=action["name"], arguments=action["args"]
        )
        self._state.messages.append(ChatMessageAssistant(content=step["thought"], tool_calls=[call]))
        self._state.messages.append(
            ChatMessageTool(content=step["observation"], tool_call_id=call.id, function=call.function)
        )

    def _judged(self, record: Mapping[str, Any], evaluation: Mapping[str, Any] | None) -> None:
        verdict = {True: "solved", False: "failed", None: "no verdict"}[record["verdict"]]
        said = f"Trial {record['trial']}: {verdict} ({record['stop_reason']})."
        feedback = evaluation["feedback"] if evaluation and record["verdict"] is not None else ""
        self._info("verdict", {"words": said, "score": record["score"], "feedback": feedback})
        self._state.messages.append(ChatMessageUser(content=f"{said}\n{feedback}".strip()))

    def _reflected(self, text: str) -> None:
        self._info("reflection", text)
        self._state.messages.append(ChatMessageAssistant(content=f"Reflection: {text}"))

    def _info(self, source: str, data: Any) -> None:
        transcript().info(data, source=source)
