"""The HotPotQA environment (Yang et al. 2018): questions that need two pages of a searchable wiki."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from langgraph_reflexion.envs.base import Action, FinishedTrial, Review, Task
from langgraph_reflexion.envs.hotpotqa.chain_of_thought import PROFILE_OVERRIDES, ChainOfThought
from langgraph_reflexion.envs.hotpotqa.episode import handed_in
from langgraph_reflexion.envs.hotpotqa.grading import exact_match, overlap
from langgraph_reflexion.envs.hotpotqa.questions import Question, read_questions, task_data
from langgraph_reflexion.envs.hotpotqa.wiki import WikiEnvironment
from langgraph_reflexion.envs.hotpotqa.world.questions import TOPIC_SPLITS, own_world, topic_questions
from langgraph_reflexion.errors import EnvironmentUnavailable, one_of


class HotPotQA(WikiEnvironment):
    """The questions of HotPotQA; the arguments are those of `WikiEnvironment`."""

    name = "hotpotqa"
    reply_tokens = 1024
    splits: tuple[str, ...] = ("own", *TOPIC_SPLITS)
    actors = ("cot", "cot-gt")
    profile_overrides = PROFILE_OVERRIDES

    def read(self, path: Path) -> Iterable[Question]:
        return read_questions(path)

    def own(self, split: str) -> Sequence[Question]:
        if split in TOPIC_SPLITS:
            return topic_questions(split, self.seed)
        return own_world(self.seed).questions

    def context(self, task: Task) -> str:
        """Return the paragraphs that answer a task, in order, from those that came with the questions.

        Raises:
            ConfigurationError: this is not a HotPotQA task, or its questions came without pages.
            EnvironmentUnavailable: a page did not come with the questions (in `fullwiki`, some are missing).
        """
        corpus = self._corpus(task)
        paragraphs = []
        # A question that names none has no paragraphs, which the missing page "" says.
        for title in task_data(task)["supporting"] or [""]:
            page = corpus.page(title)
            if page is None:
                raise EnvironmentUnavailable(
                    f"the page {title!r}, which answers {task['id']}, did not come with the questions: use the file "
                    "of the distractor setting"
                )
            text = " ".join(page.text.split())
            paragraphs.append(f"{page.title}: {text}")
        return "\n\n".join(paragraphs)

    def for_actor(self, name: str) -> ChainOfThought:
        """Return the questions without tools: `cot` from memory, `cot-gt` from the supporting paragraphs."""
        if one_of("actor", name, self.actors) == "cot-gt":
            return ChainOfThought(self, name, self.context)
        return ChainOfThought(self, name)

    def review(self, task: Task, trial: FinishedTrial) -> Review:
        """Return exact match, F1, precision and recall of the answer; all are 0 without an answer."""
        answer = self.handed_in(trial["actions"])
        gold = task_data(task)["answer"]
        measures = {"exact_match": float(exact_match(answer, gold))}
        measures.update(overlap(answer, gold)._asdict())
        return Review(measures=measures)

    def handed_in(self, actions: Sequence[Action]) -> str | None:
        """Return the answer that a trial has handed in, or None."""
        return handed_in(actions)
