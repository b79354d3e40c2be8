"""Self-consistency: the actor is asked again, from the same prompt, and the majority decides."""

import pytest

from langgraph_reflexion import ConfigurationError, ModelFault, ModelOptions, create_reflexion
from langgraph_reflexion.envs.hotpotqa.environment import HotPotQA
from langgraph_reflexion.retries import Retries
from langgraph_reflexion.testing import ScriptedChatModel


def said(answer):
    return f"Thought: Hm.\nAction: finish[{answer}]"


def play(*replies, actor="cot", samples=3, **options):
    model = ScriptedChatModel(replies=list(replies))
    options = {"strategy": "retry", "max_trials": 1, "evaluator": f"self-consistency:{samples}", **options}
    environment = HotPotQA()
    options = {"options": ModelOptions(retries=Retries(attempts=1)), **options}
    graph = create_reflexion(model, environment, actor=actor, **options).compile()
    final = graph.invoke({"task": environment.tasks()[0]})
    environment.close()
    return final, model


@pytest.mark.parametrize(
    ("samples", "score"),
    [
        (["the rome.", "Paris", "Rome"], 1.0),
        (["Paris", "Paris", "Rome"], 1 / 3),
    ],
)
def test_the_majority_of_normalized_answers_decides(samples, score):
    final, _ = play(said("Rome"), *map(said, samples))
    assert final["trials"][0]["score"] == pytest.approx(score)
    assert final["trials"][0]["verdict"] == (score == 1.0)


def test_samples_have_the_prompt_of_the_answer_and_seeds_of_their_own():
    final, model = play("Thought: Let me look.\nAction: search[Rome]", *[said("x")] * 4, actor="react")
    assert final["trials"][0]["verdict"] is True
    answered, *sampled = [[(type(m), m.text) for m in prompt] for prompt in model.prompts[1:]]
    assert sampled == [answered] * 3
    assert len(set(model.seeds)) == len(model.seeds) == 5


def test_a_trial_without_an_answer_is_rejected_without_sampling():
    final, model = play("I cannot say.")
    assert (final["trials"][0]["score"], len(model.prompts)) == (0.0, 1)
    final, model = play(*["Action: search[Rome]"] * 4, actor="react")
    assert final["trials"][0]["stop_reason"] == "hallucination"
    assert (final["trials"][0]["verdict"], len(model.prompts)) == (False, 4)


def test_a_failing_model_gives_no_verdict():
    final, _ = play(said("Rome"), said("Rome"), ModelFault("down"), said("Rome"))
    assert (final["status"], final["trials"][0]["verdict"]) == ("fault", None)
    assert "down" in final["fault"]


@pytest.mark.parametrize(("samples", "says"), [("2", "an odd number"), ("many", "takes a number")])
def test_a_number_of_samples_without_a_majority_is_refused(samples, says):
    with pytest.raises(ConfigurationError, match=says):
        play(samples=samples)
