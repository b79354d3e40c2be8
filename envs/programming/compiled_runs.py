"""Runs of candidates in the languages of `languages.toml`: compiled once with all their calls."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from langgraph_reflexion.envs.programming.languages import Language
from langgraph_reflexion.envs.programming.limits import COMPILER, ended_by
from langgraph_reflexion.envs.programming.values import Answer, one_line
from langgraph_reflexion.envs.sandbox import Limits, Policy, Result, Sandbox
from langgraph_reflexion.envs.sandbox.types import MB
from langgraph_reflexion.errors import EnvironmentUnavailable


@dataclass(frozen=True, slots=True)
class Built:
    """A program that is ready to run, or why there is not."""

    files: Mapping[str, str | bytes]
    error: str = ""
    """The compiler's first error, in one line."""


class CompiledRuns:
    """Compiles and runs candidates. Thread-safe."""

    def __init__(self, sandbox: Sandbox, limits: Limits) -> None:
        self._sandbox, self._limits = sandbox, limits

    def build(self, language: Language, code: str, calls: Sequence[str]) -> Built:
        """Compile the program around a candidate."""
        files = self._files(language, code, calls)
        if not language.compile:
            return Built(files)
        done = self.command(language, language.compile, files, collect=language.made)
        if done.status != "ok" or not done.files:
            return _not_built(language, done, COMPILER)
        return Built(done.files)

    def command(
        self,
        language: Language,
        argv: Sequence[str],
        files: Mapping[str, str | bytes],
        *,
        collect: Sequence[str] = (),
    ) -> Result:
        """Run a compiler."""
        return self._run(language, argv, files, COMPILER, collect)

    def answers(self, language: Language, built: Built, count: int, *, each: bool = False) -> list[Answer]:
        """Return the answers to the calls of a program.

        If a call ends the program, with `each` the next one gets a new run; otherwise all later calls fail.
        """
        answers: list[Answer] = []
        limits = self._candidate(language)
        while len(answers) < count:
            done = self._run(language, [*language.run, str(len(answers))], built.files, limits, ())
            lines = done.result.decode(errors="replace").split("\n")[:-1]
            answers += [_answer(line) for line in lines[: count - len(answers)]]
            if len(answers) < count:
                ended = Answer(error=ended_by(done, limits) or _ended(language, done))
                answers += [ended] * (1 if each else count - len(answers))
        return answers

    def _candidate(self, language: Language) -> Limits:
        return replace(self._limits, memory=max(self._limits.memory, language.memory * MB))

    def _files(self, language: Language, code: str, calls: Sequence[str]) -> dict[str, bytes]:
        return {name: text.encode(errors="replace") for name, text in language.sources(code, calls).items()}

    def _run(
        self,
        language: Language,
        argv: Sequence[str],
        files: Mapping[str, str | bytes],
        limits: Limits,
        collect: Sequence[str],
    ) -> Result:
        policy = Policy(env=language.env)
        try:
            for command in (*language.compile[:1], *(each for each in language.run[:1] if "/" not in each)):
                self._sandbox.request([command], (), (), None, limits, policy)
            return self._sandbox.run(argv, files=files, collect=collect, limits=limits, policy=policy)
        except EnvironmentUnavailable as error:
            raise EnvironmentUnavailable(f"{language.name}: {error}; {language.fix}") from None


def _not_built(language: Language, done: Result, limits: Limits) -> Built:
    complaint = language.complaint(f"{done.errors}\n{done.text}")
    return Built({}, ended_by(done, limits) or complaint or "it does not compile")


def _answer(line: str) -> Answer:
    match line[:1]:
        case "=":
            return Answer(value=line[1:], returned=True)
        case "!":
            return Answer(error=one_line(line[1:501]) or "it failed")
    return Answer(error="its answer is malformed")


def _ended(language: Language, done: Result) -> str:
    said = language.complaint(done.errors)
    how = f"exit status {done.exit_code}" if done.exit_code <= 128 else f"signal {done.exit_code - 128}"
    return f"the program ended during the call ({how}{f': {said}' if said else ''})"
