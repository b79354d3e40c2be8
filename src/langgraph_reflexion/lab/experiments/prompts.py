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
from langgraph_reflexion.lab.experiments.record import SENT, Run, read_run
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
    tools: list[dict[str, Any]]
    """The tools that the model was offered, as schemas."""
    reply: SentMessage | None
    """None for an agent of your own, whose messages are the trajectory."""

    @property
    def title(self) -> str:
        """What the prompt is for, in words."""
        about = f"trial {self.trial} of {self.task}"
        match self.kind:
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
        return [(message["role"], printable(_text(message))) for message in self.messages]

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
    run = run if isinstance(run, Run) else read_run(run)
    if not run.has_prompts:
        raise ConfigurationError(f"{run.folder} has no recorded prompts: {SENT} is missing or empty")
    for row in run.trials:
        about = row["task_id"], row["trial"]
        if task in (None, about[0]) and trial in (None, about[1]):
            for call in run.calls(about):
                yield SentPrompt(*about, call.kind, call.call, call.step, call.messages, call.tools, call.reply)


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
    run = run if isinstance(run, Run) else read_run(run)
    rows = {row["trial"]: row for row in run.tasks.get(task, ())}
    if trial not in rows:
        raise ConfigurationError(f"{run.folder} has no record of trial {trial} of {printable(task)!r}")
    prompts = list(read_prompts(run, task, trial))
    where = f"trial {trial} of {printable(task)}"
    match step:
        case None:
            missing = f"{where} was not reflected on"
            found = [prompt for prompt in prompts if prompt.kind == "reflect"]
        case "judge":
            evaluator = run.settings["evaluator"]
            missing = f"{where}: no prompt asked for its verdict (evaluator {evaluator})"
            found = [prompt for prompt in prompts if prompt.kind == "evaluate"]
        case _:
            missing = f"{where} has no model call for step {step}"
            found = [prompt for prompt in prompts if prompt.kind == "act" and prompt.step == step]
            if run.settings.get("actor") == "agent":
                found = [prompt for prompt in prompts if prompt.kind == "act"]
    if not found:
        raise ConfigurationError(missing)
    # The last one continues those before it: a question for the action, or a second one to a judge.
    return found[-1]


def _text(message: SentMessage) -> str:
    content = message["content"]
    blocks = [content] if isinstance(content, str) else content
    texts = [_block_text(block) for block in blocks]
    calls = [call_text(call["name"], call["args"]) for call in message.get("tool_calls", [])]
    return "\n".join(text for text in [*texts, *calls] if text)


def _block_text(block: Any) -> str:
    if isinstance(block, str):
        return block
    if block.get("type") == "text":
        return str(block.get("text", ""))
    if "sha256" in block:
        return f"[{block.get('type')} of {block.get('bytes')} bytes]"
    return ""
