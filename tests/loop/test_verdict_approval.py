"""A person decides about verdicts: the loop acts on the decision, and nothing is judged or done twice."""

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

import langgraph_reflexion as lr
from langgraph_reflexion.errors import Fault
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.toys import AT_ONCE, THREAD, Parrot, asks_for, compiled, timeless

GOOD, BAD = "bye right", "bye wrong"
VERDICTS = lr.Approval(verdicts=True)
APPROVE = {"type": "approve"}


def reject(message=None):
    decision = {"type": "reject"}
    if message is not None:
        decision["message"] = message
    return decision


def edit(**args):
    return {"type": "edit", "edited_action": {"name": "verdict", "args": args}}


def parrot(says, verdicts=("no",), saver=None, **options):
    """A graph that says one thing per trial, under a judge that answers in turn, and its model."""
    words, judged = iter(says), iter(verdicts)

    def reply(prompt):
        match asks_for(prompt):
            case "act":
                return f"Action: say {next(words)}"
            case "judge":
                return f"I looked at it.\nVerdict: {next(judged)}"
        return "Say something else."

    given = {"max_trials": len(says), "approval": VERDICTS, "evaluator": "llm", "feedback": "words", **options}
    return compiled(reply, Parrot(**{GOOD: 1.0, BAD: 0.0}), saver or InMemorySaver(), **given)


TASK = {"task": Parrot(**{GOOD: 1.0, BAD: 0.0}).tasks()[0]}


def asked(result):
    """What a person is asked about a verdict."""
    [pause] = result["__interrupt__"]
    [config] = pause.value["review_configs"]
    assert config == {"action_name": "verdict", "allowed_decisions": ["approve", "edit", "reject"]}
    [request] = pause.value["action_requests"]
    assert request["name"] == "verdict"
    return request


def answer(graph, decision):
    return graph.invoke(Command(resume={"decisions": [decision]}), THREAD)


def outcome(final):
    [record] = final["trials"]
    evaluation = final["evaluation"]
    return final["status"], evaluation["success"], evaluation["score"], evaluation["feedback"], record["notes"]


SAID_NO = "I looked at it.\nVerdict: no"
SAID_YES = "I looked at it.\nVerdict: yes"
NO = "failed, score 0: a person overruled the verdict"
YES = "success, score 1: a person overruled the verdict"


@pytest.mark.parametrize(
    ("judge", "decision", "expected"),
    [
        ("no", APPROVE, ("failed", False, 0.0, SAID_NO, [])),
        ("yes", APPROVE, ("solved", True, 1.0, SAID_YES, [])),
        ("no", edit(success=True, feedback="It will do."), ("solved", True, 1.0, "It will do.", [NO])),
        ("yes", edit(success=False, feedback="Say it twice."), ("failed", False, 0.0, "Say it twice.", [YES])),
        ("yes", edit(success="false", feedback="Twice."), ("failed", False, 0.0, "Twice.", [YES])),
        ("no", edit(success=True), ("solved", True, 1.0, "", [NO])),
        ("no", edit(success=False), ("failed", False, 0.0, SAID_NO, [])),
        ("no", edit(success=False, feedback="No."), ("failed", False, 0.0, "No.", ["a person changed the feedback"])),
        ("yes", reject("Say it twice."), ("failed", False, 0.0, "Say it twice.", [YES])),
        ("yes", reject(), ("failed", False, 0.0, "", [YES])),
        ("no", reject("No."), ("failed", False, 0.0, "No.", ["a person changed the feedback"])),
        ("no", reject(), ("failed", False, 0.0, SAID_NO, [])),
    ],
)
def test_a_verdict_is_kept_overruled_or_rejected(judge, decision, expected):
    graph, model = parrot([BAD], [judge])
    paused = graph.invoke(TASK, THREAD)
    assert asked(paused)["args"]["success"] == (judge == "yes")
    final = answer(graph, decision)
    assert outcome(final) == expected
    assert final["trials"][0]["success"] is False, "the truth is not for a person to say"
    assert [asks_for(prompt) for prompt in model.prompts] == ["act", "judge"]


def test_while_a_verdict_waits_the_state_has_it_and_no_record():
    graph, model = parrot([BAD])
    request = asked(graph.invoke(TASK, THREAD))
    assert request["args"] == {"success": False, "feedback": SAID_NO}
    for words in ("Task: Say the right word.", "Trial 1", "say bye wrong", "Verdict: failed, score 0"):
        assert words in request["description"]
    state = graph.get_state(THREAD)
    assert state.next == ("evaluate",)
    assert (state.values["status"], state.values["trials"], state.values["evaluation"]) == ("running", [], None)
    assert state.values["proposed_evaluation"] == {"success": False, "score": 0.0, "feedback": SAID_NO}
    assert state.values["usage"]["evaluate"]["llm_calls"] == 1
    assert answer(graph, APPROVE)["proposed_evaluation"] is None
    assert len(model.prompts) == 2


def test_with_and_without_the_pause_a_task_is_the_same():
    says, verdicts = [BAD, "bye maybe", GOOD], ["no", "no", "yes"]
    graph, model = parrot(says, verdicts)
    result = graph.invoke(TASK, THREAD)
    pauses = 0
    while "__interrupt__" in result:
        pauses += 1
        result = answer(graph, APPROVE)
    plain, unpaused = parrot(says, verdicts, approval=None)
    final = plain.invoke(TASK, THREAD)
    assert (pauses, model.prompts) == (3, unpaused.prompts)
    assert result.pop("proposed_evaluation") is None
    assert result.pop("proposed_truth") is None
    assert timeless(result) == timeless(final)


def test_the_reflection_and_the_next_trial_hear_the_person():
    graph, model = parrot([GOOD, GOOD], ["yes", "yes"])
    graph.invoke(TASK, THREAD)
    paused = answer(graph, reject("Say it in French."))
    assert asked(paused)["args"]["success"] is True
    reflects = [prompt for prompt in model.prompts if asks_for(prompt) == "reflect"]
    assert "Say it in French." in reflects[0][-1].text
    final = answer(graph, APPROVE)
    assert [record["verdict"] for record in final["trials"]] == [False, True]
    assert final["best"] == 2


@pytest.mark.parametrize(
    ("decision", "problem"),
    [
        (edit(success="perhaps", feedback="x"), "`success` must be true or false; got 'perhaps'"),
        (edit(success=1, feedback="x"), "`success` must be true or false; got 1"),
        (edit(feedback="x"), "`success` must be true or false; got None"),
        (edit(success=True, feedback=["x"]), "`feedback` must be a text; got ['x']"),
        (edit(success=True, feedback="x", score=1), "remove 'score'"),
        ({"type": "edit", "edited_action": {"name": "verdict", "args": "yes"}}, "`args` must be a dict"),
        ({"type": "edit"}, "one decision: approve, edit or reject"),
        ({"type": "reject", "message": {"a": 1}}, "The message of a reject must be a text. It was: {'a': 1}"),
        ({"type": "respond"}, "one decision: approve, edit or reject"),
    ],
)
def test_an_answer_that_cannot_be_read_is_asked_for_again(decision, problem):
    graph, model = parrot([BAD])
    first = asked(graph.invoke(TASK, THREAD))
    again = asked(answer(graph, decision))
    assert problem in again["description"]
    assert again["description"].endswith(first["description"])
    assert answer(graph, edit(success=True, feedback="Right."))["status"] == "solved"
    assert len(model.prompts) == 2


@pytest.mark.parametrize(("evaluator", "verdict"), [("environment", "failed, score 0"), ("none", "unverified")])
def test_any_evaluators_verdict_waits(evaluator, verdict):
    graph, _ = parrot([BAD], evaluator=evaluator)
    assert f"Verdict: {verdict}\n" in asked(graph.invoke(TASK, THREAD))["description"]
    final = answer(graph, edit(success=True, feedback="It will do."))
    assert outcome(final) == ("solved", True, 1.0, "It will do.", [f"{verdict}: a person overruled the verdict"])
    assert "unverified" not in final["trials"][0]


def no_docker(task, trajectory):
    raise Fault("no docker")


@pytest.mark.parametrize(
    ("options", "status"),
    [
        ({"evaluator": no_docker, "options": AT_ONCE}, "fault"),
        ({"budgets": lr.Budgets(task=lr.Budget(llm_calls=1))}, "budget"),
    ],
    ids=["fault", "budget"],
)
def test_a_trial_without_a_verdict_does_not_pause(options, status):
    graph, _ = parrot(["hello"], **options)
    final = graph.invoke(TASK, THREAD)
    assert (final["status"], "__interrupt__" in final) == (status, False)


def test_an_evaluator_that_asks_a_person_itself_is_asked_first():
    def ask(task, trajectory):
        return interrupt("Is it right?") == "yes"

    graph, _ = parrot([BAD], evaluator=ask)
    assert graph.invoke(TASK, THREAD)["__interrupt__"][0].value == "Is it right?"
    paused = graph.invoke(Command(resume="yes"), THREAD)
    assert asked(paused)["args"]["success"] is True
    assert answer(graph, APPROVE)["status"] == "solved"


def test_a_new_task_on_a_thread_that_waits_is_judged_afresh():
    graph, model = parrot([BAD, BAD], ["yes", "no"], max_trials=1)
    graph.invoke(TASK, THREAD)
    again = asked(graph.invoke(TASK, THREAD))
    assert again["args"]["success"] is False
    assert answer(graph, APPROVE)["status"] == "failed"
    assert len(model.prompts) == 4


def test_a_graph_that_asks_nobody_keeps_the_verdict_that_waits():
    saver = InMemorySaver()
    parrot([BAD], ["yes"], saver)[0].invoke(TASK, THREAD)
    graph, model = parrot([BAD], saver=saver, approval=None)
    assert graph.invoke(None, THREAD)["status"] == "solved"
    assert model.prompts == []


def test_events_tell_the_verdict_once_it_is_decided():
    graph, _ = parrot([BAD])
    events = list(graph.stream(TASK, THREAD, stream_mode="custom"))
    assert [each["event"] for each in events] == ["trial_started", "action"]
    events = list(graph.stream(Command(resume="approve"), THREAD, stream_mode="custom"))
    assert [(each["event"], each["status"]) for each in events] == [("verdict", "failed")]


def test_the_graph_leads_back_to_evaluate_only_if_verdicts_wait():
    def returns(graph):
        return ("evaluate", "evaluate") in {(edge.source, edge.target) for edge in graph.get_graph().edges}

    assert returns(parrot([BAD])[0])
    assert not returns(parrot([BAD], approval=lr.Approval(reflections=True))[0])


def test_without_a_checkpointer_verdicts_are_refused_before_anything_happens():
    graph, model = parrot([BAD])
    graph.checkpointer = None
    with pytest.raises(lr.ConfigurationError, match="checkpointer"):
        graph.invoke(TASK, THREAD)
    assert model.prompts == []


class Guesses:
    """An agent that says 1, 2, 3 and so on, and a judge that counts how often it is asked."""

    def __init__(self):
        self.said = ScriptedChatModel(replies=[f"It is {number}." for number in range(1, 10)])
        self.reflects = ScriptedChatModel(replies=lambda messages: "I should count on.")
        self.judged = []

    def judge(self, task, result):
        self.judged.append(result)
        return result == "It is 2.", f"You said: {result}"

    def compiled(self, way, approval, **options):
        given = {"evaluator": self.judge, "approval": approval, **options}
        if way == "middleware":
            middleware = [lr.ReflexionMiddleware(self.reflects, **given)]
            return create_agent(self.said, middleware=middleware, checkpointer=InMemorySaver())
        graph = lr.create_reflexion(self.reflects, actor=create_agent(self.said), **given)
        return graph.compile(checkpointer=InMemorySaver())


GIVEN = {"messages": [HumanMessage("Hello"), AIMessage("Hello."), HumanMessage("Guess.")]}
WAYS = pytest.mark.parametrize("way", ["graph", "middleware"])


def reflexion_of(final):
    last = final["messages"][-1]
    return last.text, last.response_metadata["reflexion"]


@WAYS
def test_around_an_agent_with_and_without_the_pause_a_task_is_the_same(way):
    plain, paused = Guesses(), Guesses()
    expected = plain.compiled(way, None).invoke(GIVEN, THREAD)
    agent = paused.compiled(way, VERDICTS)
    result = agent.invoke(GIVEN, THREAD)
    for number in (1, 2):
        assert f"It is {number}." in asked(result)["description"]
        assert paused.judged == plain.judged[:number]
        result = answer(agent, APPROVE)
    assert reflexion_of(result) == reflexion_of(expected)
    assert [each.text for each in result["messages"]] == [each.text for each in expected["messages"]]
    assert (paused.judged, paused.said.prompts) == (plain.judged, plain.said.prompts)
    assert paused.reflects.prompts == plain.reflects.prompts


@WAYS
async def test_around_an_agent_a_person_overrules(way):
    guesses = Guesses()
    agent = guesses.compiled(way, VERDICTS)
    await agent.ainvoke(GIVEN, THREAD)
    final = await agent.ainvoke(Command(resume={"decisions": [edit(success=True, feedback="Near.")]}), THREAD)
    assert reflexion_of(final)[0] == "It is 1."
    assert (reflexion_of(final)[1]["status"], reflexion_of(final)[1]["score"]) == ("solved", 1.0)
    assert len(guesses.judged) == 1


@WAYS
def test_around_an_agent_the_best_trial_is_the_answer_after_a_rejection(way):
    guesses = Guesses()
    agent = guesses.compiled(way, VERDICTS, max_trials=2)
    agent.invoke(GIVEN, THREAD)
    answer(agent, APPROVE)
    final = answer(agent, reject("It is not 2."))
    assert (reflexion_of(final)[1]["status"], reflexion_of(final)[1]["trials"]) == ("failed", 2)
    assert guesses.judged == ["It is 1.", "It is 2."]


@pytest.mark.parametrize("approval", [VERDICTS, lr.Approval(reflections=True)])
def test_around_an_agent_without_a_thread_pauses_are_refused_before_anything_happens(approval):
    guesses = Guesses()
    middleware = lr.ReflexionMiddleware(guesses.reflects, evaluator=guesses.judge, approval=approval)
    with pytest.raises(lr.ConfigurationError, match="checkpointer"):
        create_agent(guesses.said, middleware=[middleware]).invoke(GIVEN)
    assert guesses.said.prompts == []


def test_a_new_message_to_an_agent_that_waits_is_a_new_task():
    guesses = Guesses()
    agent = guesses.compiled("middleware", VERDICTS)
    agent.invoke(GIVEN, THREAD)
    paused = agent.invoke({"messages": [HumanMessage("Guess again.")]}, THREAD)
    assert "Task: Guess again.\nTrial 1\nResult: It is 2." in asked(paused)["description"]
    assert reflexion_of(answer(agent, APPROVE))[1]["status"] == "solved"


def test_the_decision_outlives_a_process_that_knows_no_model_to_reflect():
    guesses, saver = Guesses(), InMemorySaver()

    def agent(*model):
        middleware = lr.ReflexionMiddleware(*model, evaluator=guesses.judge, approval=VERDICTS)
        return create_agent(guesses.said, middleware=[middleware], checkpointer=saver)

    agent().invoke(GIVEN, THREAD)
    with pytest.raises(lr.ConfigurationError, match="model="):
        answer(agent(), reject("It is not 1."))
    going_on = agent(guesses.reflects)
    assert "It is 2." in asked(going_on.invoke(None, THREAD))["description"]
    assert "It is not 1." in guesses.reflects.prompts[0][-1].text
    assert len(guesses.judged) == 2


class Paper:
    """A world whose contents are a text, which anybody may change."""

    def __init__(self):
        self.text = ""

    def save(self):
        return {"text": self.text}

    def restore(self, saved):
        self.text = saved["text"]


def test_the_world_is_that_of_the_trial_whatever_happens_while_the_verdict_waits():
    paper = Paper()

    def write(task):
        paper.text += "written"
        return "I wrote."

    given = {"evaluator": lambda task, result: False, "strategy": "retry", "max_trials": 1, "approval": VERDICTS}
    actor = lr.WrappedAgent(write, reset=paper)
    graph = lr.create_reflexion(actor=actor, **given).compile(checkpointer=InMemorySaver())
    graph.invoke({"task": "Write."}, THREAD)
    paper.text = "another task's"
    assert asked(graph.invoke(Command(resume="perhaps"), THREAD))
    assert paper.text == "another task's", "nothing is done before the answer"
    assert answer(graph, edit(success=True, feedback=""))["status"] == "solved"
    assert paper.text == "written"
