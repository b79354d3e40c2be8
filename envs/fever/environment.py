"""The FEVER environment (Thorne et al. 2018) in ReAct's setting: claims to be verified on a searchable wiki."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel

from langgraph_reflexion.envs.base import action
from langgraph_reflexion.envs.fever.claims import LABELS, Label, own_claims
from langgraph_reflexion.envs.hotpotqa.episode import WikiEpisode
from langgraph_reflexion.envs.hotpotqa.questions import Question, Words, read_questions
from langgraph_reflexion.envs.hotpotqa.wiki import WikiEnvironment
from langgraph_reflexion.support.choices import UNLIMITED
from langgraph_reflexion.support.files import Row


class _Entry(BaseModel):
    id: int | str
    claim: Words
    label: Label


class FEVEREpisode(WikiEpisode):
    """An attempt at a claim. Any label ends it, also one that does not exist, which is wrong."""

    label = "Claim"

    @action("finish[{answer}]")
    def finish(self, answer: Annotated[str, f"the label: {', '.join(LABELS[:-1])} or {LABELS[-1]}"]) -> str:
        """Hand in the label of the claim and end the trial."""
        return str(super().finish(answer))


class FEVER(WikiEnvironment):
    """Claims that pages support, refute or leave open; the arguments are those of `WikiEnvironment`."""

    name = "fever"
    splits: tuple[str, ...] = ("own",)
    episode = FEVEREpisode
    # ReAct (Yao et al. 2023) shows three examples. Its notebook stops after seven steps and has no other rule; trials
    # and memory are those of the original Reflexion code on HotPotQA, as neither paper nor code runs it on FEVER.
    profile_defaults: ClassVar[Mapping[str, Any]] = {"examples": 3}
    profile_overrides: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "upstream": {
            "heuristic": {"max_actions": 6, "max_cycles": UNLIMITED},
            "max_trials": 5,
            "memory_size": UNLIMITED,
            "memory_beside_attempt": 1,
            "reflects_on_memory": False,
            "layout": "text",
        },
    }

    def read(self, path: Path) -> Iterator[Question]:
        """Yield the claims of an official file: JSON Lines with `id`, `claim` and `label`.

        Raises:
            ConfigurationError: an entry is not a claim with its label; the message names it.
        """
        return read_questions(path, _claim)

    def own(self, split: str) -> Sequence[Question]:
        return own_claims(self.seed)


def _claim(row: Row) -> Question:
    entry = _Entry.model_validate(row)
    return Question(str(entry.id), " ".join(entry.claim.split()), entry.label)
