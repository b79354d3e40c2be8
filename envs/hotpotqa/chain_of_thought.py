"""HotPotQA without tools (section 4.2): one answer, from memory (`cot`) or from the paragraphs (`cot-gt`)."""

from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

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
from langgraph_reflexion.envs.hotpotqa.episode import HANDED_IN, OVER, Answer, handed_in
from langgraph_reflexion.envs.hotpotqa.grading import answered, exact_match
from langgraph_reflexion.envs.hotpotqa.questions import task_data
from langgraph_reflexion.envs.hotpotqa.wiki import WikiEnvironment
from langgraph_reflexion.envs.protocols import review
from langgraph_reflexion.errors import EnvironmentFault, EnvironmentUnavailable
from langgraph_reflexion.support.choices import UNLIMITED

PROFILE_OVERRIDES: Mapping[str, Mapping[str, Any]] = {
    # Section 4.2: a question is retried until it has failed three times in a row; two examples for ReAct, six for
    # chain of thought.
    "paper": {"max_trials": 3},
    "paper/cot": {"examples": 6},
    "paper/cot-gt": {"examples": 6},
    # Section 3.2: six examples.
    "preprint": {"examples": 6},
    # The original notebooks: six steps and no other rule, 5 trials; every reflection is kept, but only the newest one
    # beside the last attempt, and self-reflection does not see the earlier ones.
    "upstream": {
        "heuristic": {"max_actions": 5, "max_cycles": UNLIMITED},
        "max_trials": 5,
        "examples": 6,
        "memory_size": UNLIMITED,
        "memory_beside_attempt": 1,
        "reflects_on_memory": False,
        "layout": "original-numbered",
        "truncation": 1600,
    },
    "upstream/cot": {"layout": "original"},
    "upstream/cot-gt": {"layout": "original", "examples": 3},
}
"""See `HasProfileOverrides`."""


class ChainOfThoughtEpisode(Episode):
    """One turn at a question. Any action ends it, so an invalid one leaves the question unanswered."""

    def __init__(self, question: str, gold: str, context: str) -> None:
        self.observation = f"Question: {question}"
        if context:
            self.observation = f"{context}\n\n{self.observation}"
        self._gold = gold
        self._answer: str | None = None
        self._over = False

    def step(self, action: Action) -> StepResult:
        observation = OVER
        if not self._over:
            observation = super().step(action).observation
        self._over = True
        reward = float(exact_match(self._answer, self._gold))
        return StepResult(observation, reward, terminated=True)

    @action("finish[{answer}]")
    def finish(self, answer: Answer) -> str:
        """Hand in the answer to the question and end the trial."""
        if not answered(answer):
            return self.invalid("finish needs an answer")
        self._answer = answer
        return HANDED_IN


class ChainOfThought(Environment):
    """The questions of HotPotQA without pages.

    Args:
        questions: The environment that provides the tasks and their grading.
        name: The actor, also the folder of its prompts.
        context: Returns the paragraphs of a task; None for answers from memory.
    """

    name = "hotpotqa"
    profile_overrides = PROFILE_OVERRIDES
    episode = ChainOfThoughtEpisode

    def __init__(self, questions: WikiEnvironment, name: str, context: Callable[[Task], str] | None = None) -> None:
        self.questions = questions
        self.splits = questions.splits
        self.context = context
        # Paragraphs may be read from a file.
        self.blocking = context is not None and questions.blocking
        self.prompts = Path(str(files("langgraph_reflexion.prompts").joinpath("hotpotqa", name)))

    def tasks(self, split: str | None = None, limit: int | None = None) -> Sequence[Task]:
        return self.questions.tasks(split, limit)

    def start(self, task: Task) -> ChainOfThoughtEpisode:
        """Start an episode; missing paragraphs are an `EnvironmentFault`, as other tasks may have theirs."""
        data = task_data(task)
        context = ""
        try:
            if self.context:
                context = self.context(task)
        except EnvironmentUnavailable as error:
            raise EnvironmentFault(str(error), transient=False) from error
        return ChainOfThoughtEpisode(data["question"], data["answer"], context)

    def parse(self, text: str) -> Action | None:
        action = self.questions.parse(text)
        # Of the wiki's actions, only `finish` is left.
        if action and action["name"] in self.episode.actions():
            return action
        return None

    def equivalent(self, one: Action, other: Action) -> bool:
        return self.questions.equivalent(one, other)

    def final_answer(self, task: Task, action: Action) -> str | None:
        return self.questions.final_answer(task, action)

    def review(self, task: Task, trial: FinishedTrial) -> Review:
        return review(self.questions, task, trial)

    def answer(self, task: Task) -> str:
        return self.questions.answer(task)

    def handed_in(self, actions: Sequence[Action]) -> str | None:
        """Return the answer that a trial has handed in, or None."""
        return handed_in(actions)
