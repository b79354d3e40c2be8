"""A trial that the heuristic stopped: its environment judges it in `finalize`."""

from typing import Any

from langgraph.checkpoint.memory import InMemorySaver

from langgraph_reflexion import Heuristic, ModelOptions, Retries, StepResult, Task, create_reflexion
from langgraph_reflexion.envs.base import Action
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.toys import Parrot, ParrotEpisode, asks_for, text_of


class DraftEpisode(ParrotEpisode):
    """Solved if the last word that was said has three letters, which only `finalize` looks at."""

    word = ""

    def step(self, action: Action) -> StepResult:
        self.word = action["args"]["words"]
        return super().step(action)

    def finalize(self) -> StepResult:
        if self.word == "burn":
            raise OSError("the paper is on fire")
        return StepResult(f"{self.word!r} has {len(self.word)} letters.", float(len(self.word) == 3))


class Drafts(Parrot):
    episode = DraftEpisode

    def start(self, task: Task) -> DraftEpisode:
        return DraftEpisode({})


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
    final, model = played("say moon", "say sunny", "say sun", "say sky")
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


def test_an_evaluator_sees_what_the_environment_adds() -> None:
    seen: list[str] = []

    def judge(task: str, steps: Any) -> bool:
        seen.append(steps[-1]["observation"])
        return True

    final, _ = played("say sun", "say moon", trials=1, evaluator=judge)
    assert seen == ["'moon' has 4 letters."]
    assert (final["trials"][0]["verdict"], final["trials"][0]["success"]) == (True, False)


def test_an_environment_that_cannot_judge_a_stopped_trial_is_a_fault() -> None:
    final, _ = played("say a", "say burn", trials=1, options=ModelOptions(retries=Retries(attempts=1)))
    assert (final["status"], final["trials"][0]["verdict"]) == ("fault", None)
    assert "the paper is on fire" in final["fault"]


def test_a_stopped_trial_is_judged_after_a_restart() -> None:
    model, config, saver = saying("say a", "say sky"), {"configurable": {"thread_id": "1"}}, InMemorySaver()

    def graph() -> Any:
        made = create_reflexion(model, Drafts(), heuristic=Heuristic(max_actions=1), max_trials=1)
        return made.compile(checkpointer=saver, interrupt_before=["evaluate"])

    graph().invoke({"task": Drafts().tasks()[0]}, config)
    assert graph().invoke(None, config)["status"] == "solved"
