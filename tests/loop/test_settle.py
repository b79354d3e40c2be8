"""A trial that the heuristic stopped: its environment judges it in `finalize`."""

from collections.abc import Sequence
from typing import Annotated, Any

from langgraph.checkpoint.memory import InMemorySaver

from langgraph_reflexion import (
    Environment,
    Episode,
    Heuristic,
    ModelOptions,
    Retries,
    StepResult,
    Task,
    action,
    create_reflexion,
)
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.toys import asks_for, text_of


class DraftEpisode(Episode):
    """Write a word; it is looked at when it is handed in, or when the trial is stopped."""

    def __init__(self) -> None:
        self.observation = "Write a word of three letters."
        self.word = ""

    @action("write {word}")
    def write(self, word: Annotated[str, "the word"]) -> str:
        """Write a word in place of the one that stands there."""
        self.word = word
        return "Written."

    @action("hand in")
    def submit(self) -> StepResult:
        """Hand the word in."""
        return StepResult(self._looked_at(), self._reward(), terminated=True)

    def finalize(self) -> StepResult:
        if self.word == "burn":
            raise OSError("the paper is on fire")
        return StepResult(self._looked_at(), self._reward())

    def _looked_at(self) -> str:
        return f"{self.word!r} has {len(self.word)} letters."

    def _reward(self) -> float:
        return float(len(self.word) == 3)


class Drafts(Environment):
    """Drafts."""

    name = "drafts"
    splits = ("all",)
    episode = DraftEpisode
    blocking = False

    def tasks(self, split: str | None = None, limit: int | None = None) -> Sequence[Task]:
        return [Task(id="d", instruction="Write a word.")]

    def start(self, task: Task) -> DraftEpisode:
        return DraftEpisode()


def saying(*words: str) -> ScriptedChatModel:
    said = iter(words)
    return ScriptedChatModel(
        replies=lambda prompt: f"Action: {next(said)}" if asks_for(prompt) == "act" else "Another one."
    )


def played(*words: str, trials: int = 2, **options: Any) -> tuple[Any, ScriptedChatModel]:
    model, stops = saying(*words), Heuristic(max_actions=1)
    graph = create_reflexion(model, Drafts(), heuristic=stops, max_trials=trials, **options).compile()
    return graph.invoke({"task": Drafts().tasks()[0]}), model


def test_the_environment_judges_a_stopped_trial() -> None:
    final, model = played("write moon", "write sunny", "write sun", "write sky")
    assert [(t["verdict"], t["success"], t["actions"]) for t in final["trials"]] == [
        (False, False, 2),
        (True, True, 2),
    ]
    assert final["status"] == "solved"
    *_, last = final["trajectory"]
    assert (last["number"], last["action"], last["observation"]) == (3, None, "'sky' has 3 letters.")
    reflected = next(text_of(prompt) for prompt in model.prompts if asks_for(prompt) == "reflect")
    assert "took too many actions" in reflected
    assert "'sunny' has 5 letters." in reflected


def test_an_environment_that_cannot_judge_a_stopped_trial_is_a_fault() -> None:
    final, _ = played("write a", "write burn", trials=1, options=ModelOptions(retries=Retries(attempts=1)))
    assert (final["status"], final["trials"][0]["verdict"]) == ("fault", None)
    assert "the paper is on fire" in final["fault"]


def test_a_stopped_trial_is_judged_after_a_restart() -> None:
    model, config, saver = saying("write a", "write sky"), {"configurable": {"thread_id": "1"}}, InMemorySaver()

    def graph() -> Any:
        made = create_reflexion(model, Drafts(), heuristic=Heuristic(max_actions=1), max_trials=1)
        return made.compile(checkpointer=saver, interrupt_before=["evaluate"])

    graph().invoke({"task": Drafts().tasks()[0]}, config)
    assert graph().invoke(None, config)["status"] == "solved"
