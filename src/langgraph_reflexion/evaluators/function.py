"""Evaluators of the user's own: a Python function, or a shell command."""

import asyncio
import contextlib
import inspect
import math
import os
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, Literal, cast

from langchain_core.messages import AnyMessage, HumanMessage
from langchain_core.runnables import RunnableConfig

from langgraph_reflexion.envs.base import Task
from langgraph_reflexion.errors import ConfigurationError, Fault, checked
from langgraph_reflexion.evaluators.base import (
    Evaluator,
    Score,
    expect_reference,
    reference_of,
    result_in,
)
from langgraph_reflexion.loop.conversation import asked_in
from langgraph_reflexion.state import Attempt, ReflexionState
from langgraph_reflexion.support.calling import ByName
from langgraph_reflexion.support.programs import expect_program
from langgraph_reflexion.support.sync import to_own_thread, to_thread
from langgraph_reflexion.support.text import as_text

OUTPUT_CHARS = 2000
"""Number of characters of a command's output in the feedback: the last ones, where the summary is."""

LONGEST_LABEL = 60
"""Number of characters of a command that the feedback of several evaluators names."""

SUBJECTS = ("task", "result", "messages", "state", "trajectory", "reference", "world")
"""The parameters that a function may have; also `inputs` (the task), `outputs` (the result) and `reference_outputs`
(the reference answer), as LangSmith and openevals call them."""

_ALIASES = {"inputs": "task", "reference_outputs": "reference"}


class FunctionEvaluator(Evaluator):
    """A function that scores a trial; the names of its parameters say what it is called with.

    Args:
        function: Returns a bool, a score, `(score, feedback)`, an `Evaluation`, or a result of openevals, agentevals
            or LangSmith, plain or awaitable. Of several results the lowest score counts.
        of: The second argument, after the task, of a function whose parameters have other names than `SUBJECTS`:
            `trajectory` or `result`.

    Raises:
        ConfigurationError: the function has a parameter that cannot be filled.
    """

    def __init__(self, function: Callable[..., Any], of: Literal["trajectory", "result"]) -> None:
        self.call = ByName(function, "the evaluator", SUBJECTS, ("task", of), _subject)
        self.of = of
        self.needs_world = "world" in self.call.subjects
        unknown = {"result", "messages", "state", "world"} & self.call.subjects
        # The trial of an environment has steps, and nothing else.
        if of == "trajectory" and unknown:
            raise ConfigurationError(
                f"the evaluator needs {', '.join(sorted(unknown))}, which only a wrapped agent has: with an "
                "environment, make it a function of (task, trajectory)"
            )

    @property
    def label(self) -> str:
        """The function's name; of an object, its class's."""
        return str(getattr(self.call.function, "__name__", type(self.call.function).__name__))

    def expect(self, task: Task) -> None:
        """Expect a reference answer if the function needs one."""
        if "reference" in self.call.required:
            expect_reference(task, self.label)

    async def evaluate(self, state: ReflexionState, config: RunnableConfig) -> Score:
        """Call the function.

        Raises:
            ConfigurationError: it did not return a score.
        """
        subjects = _subjects(state)
        if self._lacks_an_answer(subjects):
            return Score(0.0, "Nothing was returned.")
        if inspect.iscoroutinefunction(self.call.function):
            result = self.call(subjects)
        else:
            # It may hang, and a budget of seconds then leaves it behind.
            result = await to_own_thread(self.call, subjects)
        # Objects and lambdas may be asynchronous without showing it.
        while inspect.isawaitable(result):
            result = await result
        return to_score(result)

    def _lacks_an_answer(self, subjects: dict[str, Any]) -> bool:
        """Return whether the trial has failed without being judged: it left nothing that the function looks at."""
        # The messages, the state or the world may show what a trial without an answer has done.
        reads_the_answer_alone = self.call.subjects <= {"task", "result", "reference"}
        if not reads_the_answer_alone:
            return False
        answer = subjects[self.of]
        if answer == "":
            # What tools have done may be all that was asked for, and the function may know where to look.
            has_acted = any(step["action"] for step in subjects["trajectory"])
            return not has_acted
        return answer is None


def _subject(parameter: inspect.Parameter) -> str:
    """Return the subject that a parameter may name."""
    if parameter.name != "outputs":
        return _ALIASES.get(parameter.name, parameter.name)
    # Of a whole trajectory, if it is annotated so.
    if "Message" in str(parameter.annotation):
        return "messages"
    return "result"


def _subjects(state: ReflexionState) -> dict[str, Any]:
    """Return what a function may be called with, by the names in `SUBJECTS`."""
    subjects: dict[str, Any] = {"task": state["task"]["instruction"], "trajectory": state["trajectory"]}
    reference = reference_of(state["task"])
    if reference is not None:
        subjects["reference"] = reference
    attempt = state.get("attempt")
    # The trial of an environment has none.
    if attempt is None:
        attempt = Attempt(messages=[], ended="", result=None, state={})
    subjects["result"] = attempt["result"]
    before, asked = asked_in(state)
    # A task that did not come as a message is shown as one.
    asked = asked or HumanMessage(state["task"]["instruction"])
    earlier: list[AnyMessage] = []
    for trial in state.get("continued", []):
        earlier += trial.get("messages", [])
    subjects["messages"] = [*before, asked, *earlier, *attempt["messages"]]
    subjects["state"] = {**attempt["state"], "messages": attempt["messages"]}
    # It is live, so that the state of the graph has no such key: see `Evaluator.needs_world`.
    subjects["world"] = cast(dict[str, Any], state).get("world")
    return subjects


@checked
class CommandEvaluator(Evaluator):
    """A shell command that runs on this machine, with the user's rights, after every trial.

    Exit status 0 is success, and the output is the feedback. The environment variables `REFLEXION_TASK_ID` and
    `REFLEXION_REFERENCE` name the task and hold its reference answer, which is empty without one.

    Args:
        command: The command line. Its standard input is the trial's result: text unchanged, other data as JSON.
        cwd: The working directory; the current one unless given.
        timeout: Seconds after which the trial fails, and the command with all its children is killed.

    Raises:
        ConfigurationError: an argument is wrong.
        EnvironmentUnavailable: there is no such program.
    """

    def __init__(self, command: str, *, cwd: Path | str | None = None, timeout: float = 600.0) -> None:
        if not command.strip():
            raise ConfigurationError("CommandEvaluator.command is empty")
        expect_program(command)
        self.command = command
        self.cwd = cwd
        self.timeout = timeout

    @property
    def label(self) -> str:
        """The command line, shortened."""
        return self.command[:LONGEST_LABEL]

    async def evaluate(self, state: ReflexionState, config: RunnableConfig) -> Score:
        """Run the command.

        Raises:
            EnvironmentUnavailable: there is no such program.
            Fault: it could not be started.
        """
        # Files, because `wait` also waits for pipes, which the command's children may hold open.
        with TemporaryFile() as given, TemporaryFile() as log:
            # A result may have a lone surrogate, which UTF-8 lacks.
            given.write(as_text(result_in(state)).encode("utf-8", "replace"))
            # Otherwise the command would begin to read at the end of the file.
            given.seek(0)
            status = await self._status(given, log, _variables(state["task"]))
            if status is None:
                return Score(0.0, f"{self.command}: not done after {self.timeout:g} seconds")
            # A shell reports by its exit status that it has not found the program.
            await to_thread(expect_program, self.command, None, status)
            printed = _end_of(log)
        if status == 0:
            return Score(1.0, printed.strip())
        return Score(0.0, f"{self.command}: exit status {status}\n{printed}".strip())

    async def _status(self, given: IO[bytes], log: IO[bytes], variables: dict[str, str]) -> int | None:
        """Run the command, and return its exit status; None if it took too long."""
        process = await self._started(given, log, variables)
        try:
            return await asyncio.wait_for(process.wait(), self.timeout)
        except TimeoutError:
            return None
        finally:
            # Its children would go on without it. Mostly none is left, and one of another user cannot be killed.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            # After a timeout the process is still to be reaped.
            await process.wait()

    async def _started(
        self, given: IO[bytes], log: IO[bytes], variables: dict[str, str]
    ) -> asyncio.subprocess.Process:
        try:
            return await asyncio.create_subprocess_shell(
                self.command,
                cwd=self.cwd,
                env={**os.environ, **variables},
                stdin=given,
                stdout=log,
                stderr=asyncio.subprocess.STDOUT,
                # A process group of its own, which can be killed with all children of the command.
                start_new_session=True,
            )
        except OSError as error:
            said = f"the evaluator {self.command!r} could not be started: {error}"
            raise Fault(said, transient=False) from error


def _end_of(log: IO[bytes]) -> str:
    """Return the last characters of a command's output."""
    size = log.seek(0, os.SEEK_END)
    # A character has up to four bytes.
    log.seek(max(0, size - 4 * OUTPUT_CHARS))
    printed = log.read().decode(errors="replace")
    return printed.strip()[-OUTPUT_CHARS:]


def _variables(task: Task) -> dict[str, str]:
    """Return the environment variables by which a command knows the task. No variable can hold a NUL."""
    return {
        "REFLEXION_TASK_ID": task["id"].replace("\0", ""),
        "REFLEXION_REFERENCE": as_text(reference_of(task)).replace("\0", ""),
    }


def _number(score: float) -> float:
    """Return a score as a float; an integer that is too large for one as infinity, which is not a score."""
    try:
        return float(score)
    except OverflowError:
        return math.inf if score > 0 else -math.inf


def _plain(value: Any) -> Any:
    """Return a number of numpy and others as Python's."""
    # An array of several numbers is not a score.
    if hasattr(value, "item") and getattr(value, "size", 1) == 1:
        return value.item()
    return value


def to_score(result: object) -> Score:
    """Return the score for a function's result.

    Raises:
        ConfigurationError: it is not a bool, a score, a pair of score and feedback, an `Evaluation`, or a result of
            openevals, agentevals or LangSmith.
    """
    result = _with_plain_numbers(result)
    match result:
        # The first, as it is a tuple as well.
        case Score():
            return result
        case bool() | int() | float():
            return Score(_number(result))
        case (bool() | int() | float() as score, str() | None as feedback):
            return Score(_number(score), feedback or "")
        case {"score": bool() | int() | float() as score, **rest}:
            # Those of an `Evaluation`, or of LangSmith and openevals.
            words = str(rest.get("feedback") or rest.get("comment") or "")
            # Nothing but True counts: a library may use the key for something else, such as a sentence.
            unverified = _plain(rest.get("unverified")) is True
            verdict = _plain(rest.get("success"))
            if not isinstance(verdict, bool):
                verdict = None
            return Score(_number(score), words, success=verdict, unverified=unverified)
        case {"results": [*several]} if several:
            return _lowest([to_score(each) for each in several])
        # A list of results. A tuple would be a pair, and a wrong one.
        case [*several] if several and not isinstance(result, tuple):
            return _lowest([to_score(each) for each in several])
    raise ConfigurationError(
        "an evaluator must return a bool, a score, (score, feedback), an Evaluation or an EvaluationResult; "
        f"got {result!r:.200}"
    )


def _with_plain_numbers(result: Any) -> Any:
    """Return a function's result with the score as Python's number, and LangSmith's objects as dicts."""
    if isinstance(result, tuple) and len(result) == 2:
        score, feedback = result
        return _plain(score), feedback
    if isinstance(result, dict) and "score" in result:
        return {**result, "score": _plain(result["score"])}
    result = _plain(result)
    if isinstance(result, Score) or not hasattr(result, "score"):
        return result
    # LangSmith's EvaluationResult, and others of its form.
    words = getattr(result, "feedback", None) or getattr(result, "comment", None)
    return {"score": result.score, "comment": words}


def _lowest(scores: Sequence[Score]) -> Score:
    """Return the lowest of several scores, with the words of all."""
    words = [each.feedback for each in scores if each.feedback]
    verdicts = {each.success for each in scores}
    verdict: bool | None = None
    if False in verdicts:
        verdict = False
    elif verdicts == {True}:
        verdict = True
    return Score(
        min(each.score for each in scores),
        "\n".join(words),
        success=verdict,
        unverified=all(each.unverified for each in scores),
    )
