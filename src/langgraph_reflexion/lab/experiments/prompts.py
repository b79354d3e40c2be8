"""The prompts of a run: what models were sent, and what they replied, as its folder records them."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from markupsafe import Markup
from rich.console import Console
from rich.text import Text

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.lab.experiments.html import fill, framed
from langgraph_reflexion.lab.experiments.rows import key_of
from langgraph_reflexion.lab.experiments.run_files import SENT
from langgraph_reflexion.lab.experiments.runs import Run, read_run
from langgraph_reflexion.models.recorded import SentMessage
from langgraph_reflexion.support.text import call_text, printable

Place = int | Literal["judge"] | None
"""A step's number; None for the reflection on the trial, `judge` for the verdict of a model."""


@dataclass(frozen=True, repr=False)
class SentPrompt:
    """A prompt as a model was sent it, and the reply. Notebooks show it; `print` prints it in a terminal.

    Secrets are redacted, as everywhere in a run folder.
    """

    task: str
    """The task's id."""
    trial: int
    kind: str
    """What was asked for: `act`, `evaluate` (the judge), `reflect`, `condense`, `tests` or `lesson`."""
    call: str
    """The call's name within the trial, as in traces."""
    step: int | None
    """The step that an `act` asked for, counted from 1; an agent of your own got one prompt for all its steps."""
    messages: list[SentMessage]
    """For an agent of your own, the input that it was given; its own system prompt is in none."""
    tools: list[dict[str, Any]]
    """The tools that the model was offered, as schemas."""
    reply: SentMessage | None
    """None for an agent of your own, whose messages are the trajectory."""
    of_agent: bool = False
    """Whether an agent of your own was given this, once for all its steps."""

    @property
    def title(self) -> str:
        """What the prompt is for, in words."""
        about = f"trial {self.trial} of {self.task}"
        match self.kind:
            case "act" if self.of_agent:
                return f"What the agent was given in {about}, for all its steps"
            case "act":
                return f"Prompt for step {self.step} of {about}"
            case "evaluate":
                return f"Prompt for the verdict on {about}"
            case "reflect":
                return f"Prompt for the reflection on {about}"
        return f"Prompt {self.call!r} in {about}"

    @property
    def parts(self) -> list[tuple[str, str]]:
        """Its messages as role and text, printable; tool calls are written as text."""
        found: list[tuple[str, str]] = []
        for message in self.messages:
            text = printable(_text(message))
            found.append((message["role"], text))
        return found

    def print(self, console: Console | None = None) -> None:
        """Print the prompt; to the terminal by default."""
        console = console or Console(highlight=False)
        console.print(Text(printable(self.title), "bold"))
        for role, text in self.parts:
            console.print(Text(f"\n{role}", "bold reverse"))
            console.print(Text(text))

    def __repr__(self) -> str:
        return f"<{printable(self.title)}: {len(self.messages)} messages>"

    def _repr_html_(self) -> str:
        heading = Markup("<h4>{}</h4>").format(printable(self.title))
        return framed(heading, fill("prompt.html.j2", parts=self.parts))


def read_prompts(run: Run | Path | str, task: str | None = None, trial: int | None = None) -> Iterator[SentPrompt]:
    """Yield the prompts of a run in the order in which they were sent, each whole.

    A call that was tried again after a fault is yielded once, with the prompt that got the reply.

    Args:
        run: The run or its folder.
        task: Only those of the task with this id.
        trial: Only those of the trial with this number.

    Raises:
        ConfigurationError: the folder holds no run, or none whose prompts are recorded.

    ```python
    for prompt in read_prompts("runs/alfworld-1"):
        if prompt.kind == "reflect":
            print(prompt.messages[-1]["content"], prompt.reply["content"])
    ```
    """
    if not isinstance(run, Run):
        run = read_run(run)
    if not run.has_prompts:
        raise ConfigurationError(f"{run.folder} has no recorded prompts: {SENT} is missing or empty")
    of_agent = run.settings.get("actor") == "agent"
    for row in run.trials:
        if task is not None and row["task_id"] != task:
            continue
        if trial is not None and row["trial"] != trial:
            continue
        for call in run.calls(key_of(row)):
            yield SentPrompt(
                task=row["task_id"],
                trial=row["trial"],
                kind=call.kind,
                call=call.call,
                step=call.step,
                messages=call.messages,
                tools=call.tools,
                reply=call.reply,
                of_agent=of_agent and call.kind == "act",
            )


def prompt_for(run: Run | Path | str, task: str, trial: int, step: Place = None) -> SentPrompt:
    """Return one prompt of a run.

    Args:
        run: The run or its folder.
        task: The task's id.
        trial: The number of a recorded trial.
        step: What the prompt asked for.

    Raises:
        ConfigurationError: the trial is not recorded, or there was no such prompt.
    """
    if not isinstance(run, Run):
        run = read_run(run)
    trials = [row["trial"] for row in run.tasks.get(task, ())]
    if trial not in trials:
        raise ConfigurationError(f"{run.folder} has no record of trial {trial} of {printable(task)!r}")
    found: SentPrompt | None = None
    for prompt in read_prompts(run, task, trial):
        # The last one continues those before it: a question for the action, or a second one to a judge.
        if _asks_for(prompt, step):
            found = prompt
    if found is None:
        where = f"trial {trial} of {printable(task)}"
        raise ConfigurationError(_why_missing(where, step, run.settings["evaluator"]))
    return found


def _asks_for(prompt: SentPrompt, step: Place) -> bool:
    """Return whether a prompt asked for this."""
    if step is None:
        return prompt.kind == "reflect"
    if step == "judge":
        return prompt.kind == "evaluate"
    return prompt.kind == "act" and (prompt.of_agent or prompt.step == step)


def _why_missing(where: str, step: Place, evaluator: str) -> str:
    """Return why a trial has no prompt for this."""
    if step is None:
        return f"{where} was not reflected on"
    if step == "judge":
        return f"{where}: no prompt asked for its verdict (evaluator {evaluator})"
    return f"{where} has no model call for step {step}"


def _text(message: SentMessage) -> str:
    """Return a message as text: its blocks, and then its tool calls."""
    content = message["content"]
    if isinstance(content, str):
        content = [content]
    texts = [_block_text(block) for block in content]
    for call in message.get("tool_calls", []):
        texts.append(call_text(call["name"], call["args"]))
    return "\n".join(filter(None, texts))


def _block_text(block: Any) -> str:
    """Return a block of a message as text; a file by its size, as it is not recorded."""
    if isinstance(block, str):
        return block
    if block.get("type") == "text":
        return str(block.get("text", ""))
    if "sha256" in block:
        return f"[{block.get('type')} of {block.get('bytes')} bytes]"
    return ""
