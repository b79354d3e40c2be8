"""Answering without tools: from memory (`cot`), or from the paragraphs that hold the answer (`cot-gt`).

These are the paper's chain-of-thought agents (section 4.2): the same questions, one turn, one answer.
"""

from collections.abc import Callable, Sequence
from importlib.resources import files
from pathlib import Path

from langgraph_reflexion.envs.base import (
    Action,
    Environment,
    Episode,
    FinishedTrial,
    Review,
    StepResult,
    Task,
    action,
)
from langgraph_reflexion.envs.hotpotqa.episode import HANDED_IN, OVER, Answer
from langgraph_reflexion.envs.hotpotqa.grading import answered, exact_match
from langgraph_reflexion.envs.hotpotqa.questions import task_data
from langgraph_reflexion.errors import EnvironmentFault, EnvironmentUnavailable


class AnsweringEpisode(Episode):
    """One turn at a question. Whatever is done ends it, so what is no answer leaves the question unanswered.

    Args:
        question: What is asked.
        gold: The right answer.
        context: The paragraphs that are given with it; none where it is empty.
    """

    def __init__(self, question: str, gold: str, context: str = "") -> None:
        asked = f"Question: {question}"
        self.observation = f"{context}\n\n{asked}" if context else asked
        self._gold = gold
        self._answer: str | None = None
        self._over = False

    def step(self, action: Action) -> StepResult:
        """Take the one action; see `Episode.step`."""
        observation = OVER if self._over else super().step(action).observation
        self._over = True
        return StepResult(observation, float(exact_match(self._answer, self._gold)), terminated=True)

    @action("finish[{answer}]")
    def finish(self, answer: Answer) -> str:
        """Hand in the answer to the question and end the trial."""
        if not answered(answer):
            return self.invalid("finish wants an answer")
        self._answer = answer
        return HANDED_IN


class Answering(Environment):
    """The questions of HotPotQA, with nothing to search.

    Args:
        questions: Where the tasks come from, and their grading.
        name: The variant; also the folder of its prompts.
        context: Gives the paragraphs of a task; none for answers from memory.
    """

    name = "hotpotqa"
    episode = AnsweringEpisode

    def __init__(self, questions: Environment, name: str, context: Callable[[Task], str] | None = None) -> None:
        self.questions = questions
        self.splits = questions.splits
        self.context = context
        # Paragraphs may have to be read from a file first.
        self.blocking = context is not None and questions.blocking
        self.prompts = Path(str(files("langgraph_reflexion.prompts").joinpath("hotpotqa", name)))

    def tasks(self, split: str | None = None, limit: int | None = None) -> Sequence[Task]:
        """The same tasks; see `Environment.tasks`."""
        return self.questions.tasks(split, limit)

    def start(self, task: Task) -> AnsweringEpisode:
        """Start a fresh episode of a task; see `Environment.start`.

        Raises:
            ConfigurationError: this is no task of HotPotQA's.
            EnvironmentFault: the paragraphs that answer it did not come with it; other tasks may have theirs.
        """
        data = task_data(task)
        try:
            context = self.context(task) if self.context else ""
        except EnvironmentUnavailable as error:
            raise EnvironmentFault(str(error), transient=False) from error
        return AnsweringEpisode(data["question"], data["answer"], context)

    def parse(self, text: str) -> Action | None:
        """Read an answer written as text; searches are none."""
        action = self.questions.parse(text)
        return action if action and action["name"] in self.episode.actions() else None

    def same(self, one: Action, other: Action) -> bool:
        """Whether two answers come to the same; see `Environment.same`."""
        return self.questions.same(one, other)

    def review(self, task: Task, trial: FinishedTrial) -> Review:
        """Exact match and F1; see `Environment.review`."""
        return self.questions.review(task, trial)
