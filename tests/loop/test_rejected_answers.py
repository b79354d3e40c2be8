"""An answer that a check of code has rejected in a task is sampled again before it is evaluated."""

from dataclasses import replace

import pytest
from langchain_core.messages import AIMessage
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_reflexion import Evaluator, ModelOptions, Score, create_reflexion, load_environment
from langgraph_reflexion.evaluators.all_of import AllOf
from langgraph_reflexion.evaluators.rubric import Rubric
from langgraph_reflexion.loop.profiles import PROFILES, load_profile
from langgraph_reflexion.models.recorded import SAMPLED_AGAIN
from langgraph_reflexion.support.retries import Retries
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.model_server import ModelServer
from tests.support.toys import THREAD, Parrot

PROFILE = replace(PROFILES["paper"], name="mine", rejects_answers=True)
ANOTHER = f"{SAMPLED_AGAIN}, and another choice came"
SAME = f"{SAMPLED_AGAIN}, and came again"


class Quiz(Parrot):
    """A parrot, to whom "bye" and what follows is the answer."""

    name = "quiz"

    def final_answer(self, task, action):
        words = action["args"].get("words", "")
        if action["name"] != "say" or not words.startswith("bye"):
            return None
        return " ".join(words.split()).casefold()


def say(words):
    return f"Action: say {words}"


def played(*replies, environment=None, saver=None, **options):
    """The final state of a quiz, by default of two trials, and its model."""
    model = ScriptedChatModel(replies=[reply if " " in reply else say(f"bye {reply}") for reply in replies])
    environment = environment or Quiz(**{"bye right": 1.0})
    given = {"strategy": "retry", "max_trials": 2, "profile": PROFILE} | options
    graph = create_reflexion(model, environment, **given).compile(checkpointer=saver)
    return graph.invoke({"task": environment.tasks()[0]}, THREAD if saver else None), model


def calls(final):
    return [record["usage"]["act"]["llm_calls"] for record in final["trials"]]


def test_a_rejected_answer_is_sampled_again_and_counted_as_a_call():
    final, model = played("wrong", "wrong", "right")
    assert (final["status"], final["trial"], calls(final)) == ("solved", 2, [1, 2])
    assert [record["notes"] for record in final["trials"]] == [[], [ANOTHER]]
    assert len(set(model.seeds)) == 3


@pytest.mark.parametrize("same", ["Wrong", "WRONG", "wrong  "])
def test_blanks_and_capital_letters_make_no_other_answer(same):
    final, _ = played("wrong", say(f"bye {same}"), "right")
    assert (final["status"], calls(final)) == ("solved", [1, 2])


def test_after_two_samples_the_answer_is_evaluated_whatever_it_is():
    final, model = played("wrong", "wrong", "wrong", "wrong")
    assert (final["status"], calls(final), len(model.prompts)) == ("failed", [1, 3], 4)
    assert final["trials"][1]["notes"] == [SAME]


def test_an_answer_of_any_earlier_trial_counts():
    final, _ = played("one", "two", "one", "two", "right", max_trials=3)
    assert (final["status"], calls(final)) == ("solved", [1, 1, 3])


def test_what_hands_in_no_answer_may_be_repeated():
    look = say("hello there")
    final, _ = played(look, "wrong", look, "right")
    assert (final["status"], calls(final)) == ("solved", [2, 2])


@pytest.mark.parametrize("profile", ["paper", "preprint", "upstream"])
def test_the_papers_profiles_sample_no_answer_again(profile):
    final, model = played("wrong", "wrong", profile=profile)
    assert (final["status"], len(model.prompts), final["rejected"]) == ("failed", 2, [])


def test_another_task_on_the_same_thread_has_no_rejected_answers():
    saver = InMemorySaver()
    played("wrong", "other", saver=saver)
    final, _ = played("wrong", "right", saver=saver, environment=Again(**{"bye right": 1.0}))
    assert (final["status"], calls(final)) == ("solved", [1, 1])


class Again(Quiz):
    """The same quiz under another id."""

    def tasks(self, split=None, limit=None):
        return [{**task, "id": "again"} for task in super().tasks(split, limit)]


def test_what_was_rejected_is_known_in_another_process():
    saver = InMemorySaver()
    model = ScriptedChatModel(replies=[say("bye wrong"), RuntimeError("the power is gone")])
    environment = Quiz(**{"bye right": 1.0})
    options = {"strategy": "retry", "max_trials": 2, "profile": PROFILE}
    graph = create_reflexion(model, environment, **options).compile(checkpointer=saver)
    with pytest.raises(RuntimeError, match="power"):
        graph.invoke({"task": environment.tasks()[0]}, THREAD)
    rest = ScriptedChatModel(replies=[say("bye wrong"), say("bye right")])
    final = create_reflexion(rest, Quiz(), **options).compile(checkpointer=saver).invoke(None, THREAD)
    assert (final["status"], calls(final)) == ("solved", [1, 2])


class Asking(Evaluator):
    """An evaluator that would ask a model."""

    by_model = True

    async def evaluate(self, state, config):
        return Score(0.0)


@pytest.mark.parametrize(
    ("evaluator", "again"),
    [
        (lambda task, trajectory: False, True),
        (lambda task, trajectory: {"score": 0.0, "unverified": True}, False),
        ("none", False),
        (Asking(), False),
        (AllOf(lambda task, trajectory: True, Asking()), False),
        (AllOf(lambda task, trajectory: False, Asking()), True),
        (AllOf(Asking(), lambda task, trajectory: False, ask_all=True), True),
    ],
)
def test_only_what_a_check_of_code_has_rejected_counts(evaluator, again):
    final, _ = played("wrong", *["wrong"] * (3 if again else 1), evaluator=evaluator)
    assert calls(final) == [1, 3 if again else 1]


def test_judges_that_ask_a_model_say_so():
    for judge in (Rubric("It is short."), Asking()):
        assert judge.by_model
    for name in ("llm", "self-consistency:1"):
        graph = create_reflexion("demo", load_environment("alfworld"), evaluator=name)
        assert graph.loop["evaluate"].evaluator.by_model
    graph = create_reflexion("demo", load_environment("hotpotqa"), evaluator="meaning")
    assert graph.loop["evaluate"].evaluator.by_model


@pytest.mark.slow
@pytest.mark.parametrize(("own", "asked"), [(0.0, [0.7, 1.0]), (None, [1.0, 1.0]), (0.8, [0.8, 1.0])])
def test_the_temperature_rises_and_never_falls(own, asked):
    replies = [AIMessage(say("bye wrong"))] * 4
    environment = Quiz()
    with ModelServer(ScriptedChatModel(replies=replies)) as server:
        model = ChatOpenAI(model="any", base_url=server.url, api_key="any", temperature=own)
        options = {"strategy": "retry", "max_trials": 2, "profile": PROFILE}
        create_reflexion(model, environment, **options).compile().invoke({"task": environment.tasks()[0]})
        assert [request.body.get("temperature") for request in server.requests] == [own, own, *asked]
    assert model.temperature == own


@pytest.mark.parametrize(("name", "actor"), [("hotpotqa", "react"), ("hotpotqa", "cot"), ("fever", "tools")])
def test_questions_are_answered_again(name, actor):
    environment = load_environment(name)

    def reply(messages):
        if actor == "tools":
            return AIMessage("", tool_calls=[{"name": "finish", "args": {"answer": "REFUTES"}, "id": "1"}])
        return "Thought: T\nAction: finish[nobody knows]"

    model = ScriptedChatModel(replies=reply)
    options = {"strategy": "retry", "max_trials": 2, "profile": PROFILE, "actor": actor}
    graph = create_reflexion(model, environment, evaluator=lambda task, trajectory: False, **options)
    assert calls(graph.compile().invoke({"task": environment.tasks()[0]})) == [1, 3]


def test_a_thought_and_an_action_that_are_asked_for_apart_are_both_sampled_again():
    def reply(messages):
        return "I go." if messages[-1].text.endswith("Thought 1:") else "say bye wrong"

    environment = Quiz()
    model = ScriptedChatModel(replies=reply)
    profile = replace(PROFILE, layout="original-numbered")
    options = {"strategy": "retry", "max_trials": 2, "profile": profile}
    final = create_reflexion(model, environment, **options).compile().invoke({"task": environment.tasks()[0]})
    assert calls(final) == [2, 6]


def test_around_an_agent_nothing_is_sampled_again():
    said = []

    def agent(task: str) -> str:
        said.append(task)
        return "wrong"

    options = {"strategy": "retry", "max_trials": 2, "profile": PROFILE}
    create_reflexion(actor=agent, evaluator=lambda task, result: False, **options).compile().invoke(
        {"task": "Guess."}
    )
    assert len(said) == 2


def test_no_profile_that_ships_samples_answers_again():
    assert not any(load_profile(name).rejects_answers for name in PROFILES)


@pytest.mark.slow
def test_a_server_that_refuses_a_higher_temperature_is_asked_at_the_models_own():
    def refuse(request):
        return "refused:temperature" if request.body.get("temperature", 0) > 0.5 else None

    environment = Quiz()
    model = ScriptedChatModel(replies=lambda messages: say("bye wrong"))
    with ModelServer(model, faults=refuse) as server:
        asked = ChatOpenAI(model="any", base_url=server.url, api_key="any", temperature=0.2)
        options = {"strategy": "retry", "max_trials": 3, "profile": PROFILE}
        final = create_reflexion(asked, environment, **options).compile().invoke({"task": environment.tasks()[0]})
        sent = [request.body.get("temperature") for request in server.requests]
    # Refused once; what the server has taken before, it is still sent.
    assert sent == [0.2, 0.2, 0.7, 0.2, 0.2, 0.2, 0.2, 0.2]
    assert {"the server refuses a higher temperature, which is left out", SAME} <= {*final["trials"][1]["notes"]}


@pytest.mark.slow
def test_without_a_further_sample_the_answer_is_evaluated_as_it_is():
    environment = Quiz()
    model = ScriptedChatModel(replies=lambda messages: say("bye wrong"))
    with ModelServer(model, faults=[None, None, "500"]) as server:
        asked = ChatOpenAI(model="any", base_url=server.url, api_key="any", temperature=0)
        options = {"strategy": "retry", "max_trials": 2, "profile": PROFILE}
        once = ModelOptions(retries=Retries(attempts=1))
        graph = create_reflexion(asked, environment, options=once, **options).compile()
        final = graph.invoke({"task": environment.tasks()[0]})
    assert (final["status"], final["evaluation"]["success"]) == ("failed", False)
    notes = final["trials"][1]["notes"]
    assert any(note.startswith(f"{SAMPLED_AGAIN}, and no reply came") for note in notes)
