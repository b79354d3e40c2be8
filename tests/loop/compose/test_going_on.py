"""The strategy `continue` around an agent: the conversation, the state and the world of a trial go on in the next."""

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import ModelCallLimitMiddleware
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

import langgraph_reflexion as lr
from langgraph_reflexion.agents.continuing import NOT_CALLED
from langgraph_reflexion.envs.workspace.folder import WorkspaceFolder
from langgraph_reflexion.loop.heuristic import Heuristic
from langgraph_reflexion.memory.failure import NOT_ACCEPTED
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.composing import THREAD, call
from tests.support.toys import text_of

TASK = "Bring the lines to three."
WORDS = "wanted: 3 lines; got: {}"
INPUT = {"messages": [HumanMessage(TASK, id="task")]}


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "work"
    made.mkdir()
    (made / "lines").write_text("")
    return made


def appending(folder):
    """A model that appends a line whenever a person has spoken, its tools, and the check."""

    @tool
    def append() -> str:
        """Append a line."""
        with (folder / "lines").open("a") as file:
            file.write("line\n")
        return "appended"

    def reply(seen):
        if seen[-1].type == "tool":
            return AIMessage("Done.")
        return call("append")

    def check(task, result):
        lines = (folder / "lines").read_text().count("\n")
        return float(lines == 3), WORDS.format(lines)

    return ScriptedChatModel(replies=reply), [append], check


def going_on(actor, check, saver=None, **options):
    graph = lr.create_reflexion(actor=actor, evaluator=check, strategy="continue", **options)
    return graph.compile(checkpointer=saver)


def kinds(prompt):
    return [message.type for message in prompt]


@pytest.mark.parametrize("way", ["graph", "middleware"])
def test_the_conversation_goes_on_with_what_the_check_said(folder, way):
    model, tools, check = appending(folder)
    if way == "middleware":
        around = lr.ReflexionMiddleware(evaluator=check, strategy="continue")
        agent = create_agent(model, tools, middleware=[around])
    else:
        agent = going_on(create_agent(model, tools), check)
    final = agent.invoke(INPUT)
    outcome = final["messages"][-1].response_metadata["reflexion"]
    assert (outcome["status"], outcome["trials"]) == ("solved", 3)
    assert (folder / "lines").read_text() == "line\n" * 3, "nothing is reset"
    first, second, third = model.prompts[::2]
    assert kinds(first) == ["human"]
    assert kinds(second) == ["human", "ai", "tool", "ai", "human"]
    assert kinds(third) == [*kinds(second), "ai", "tool", "ai", "human"]
    assert [message.text for message in third[: len(second)]] == [message.text for message in second]
    assert second[0].text == TASK
    assert f"What the check said: {WORDS.format(1)}" in second[-1].text
    assert f"What the check said: {WORDS.format(2)}" in third[-1].text
    assert final["messages"][0].text == TASK
    assert all("What the check said" not in message.text for message in final["messages"])


def test_no_model_is_asked_for_a_reflection(folder):
    model, tools, check = appending(folder)
    reflecting = ScriptedChatModel(replies=lambda prompt: "I was late.")
    final = going_on(create_agent(model, tools), check, model=reflecting).invoke(INPUT)
    assert (final["status"], final["reflections"], reflecting.prompts) == ("solved", [], [])


def test_how_much_the_agent_is_told_is_for_the_feedback_to_say(folder):
    model, tools, check = appending(folder)
    going_on(create_agent(model, tools), check, feedback="binary").invoke(INPUT)
    shown = text_of(model.prompts[-1])
    assert f"What the check said: {NOT_ACCEPTED}" in shown
    assert "wanted" not in shown


@pytest.mark.slow
def test_a_saved_folder_is_reset_before_the_first_trial_alone(folder, tmp_path):
    model, tools, check = appending(folder)
    agent = lr.WrappedAgent(create_agent(model, tools), reset=WorkspaceFolder(folder, store=tmp_path / "store"))
    graph = going_on(agent, check, InMemorySaver())
    assert graph.invoke({"task": TASK}, THREAD)["status"] == "solved"
    assert (folder / "lines").read_text() == "line\n" * 3


def test_a_function_that_resets_is_called_before_the_first_trial_alone(folder):
    model, tools, check = appending(folder)
    resets = []
    agent = lr.WrappedAgent(create_agent(model, tools), reset=resets.append)
    assert going_on(agent, check).invoke({"task": TASK})["status"] == "solved"
    assert resets == [TASK]


class Basket(MessagesState, total=False):
    things: list[str]


def test_the_agents_own_state_goes_on_as_well():
    def add(state: Basket) -> Basket:
        return {"things": [*state.get("things", []), "thing"], "messages": [AIMessage("One more.")]}

    basket = StateGraph(Basket).add_sequence([add]).add_edge(START, "add").compile()
    seen = []

    def check(state):
        seen.append(len(state["things"]))
        return len(state["things"]) == 4

    final = going_on(basket, check).invoke({**INPUT, "things": ["given"]})
    assert (final["best"], seen, len(final["things"])) == (3, [2, 3, 4], 4)


def test_a_function_that_returns_a_text_hears_what_it_has_answered():
    heard = []

    def answer(messages: list) -> str:
        heard.append([message.text for message in messages])
        return f"answer {len(heard)}"

    final = going_on(answer, lambda result: result == "answer 2").invoke({"task": TASK})
    assert (final["status"], final["result"]) == ("solved", "answer 2")
    assert heard[1][:2] == [TASK, "answer 1"]


def test_a_call_that_was_never_made_gets_a_result(folder):
    model, tools, check = appending(folder)
    model = ScriptedChatModel(replies=lambda seen: call("append"))
    agent = create_agent(model, tools)
    final = going_on(agent, check, heuristic=Heuristic(max_actions=1), max_trials=2).invoke(INPUT)
    assert final["trials"][0]["stop_reason"] == "inefficient planning"
    for prompt in model.prompts:
        made = [each["id"] for message in prompt if isinstance(message, AIMessage) for each in message.tool_calls]
        results = [message.tool_call_id for message in prompt if isinstance(message, ToolMessage)]
        assert made == results


def test_a_limit_of_the_agents_own_leaves_no_call_open():
    answers = iter([AIMessage("", tool_calls=call("append").tool_calls), AIMessage("Stopped.")])
    heard = []

    def agent(messages: list) -> list:
        heard.append(messages)
        return [*messages, next(answers)]

    going_on(agent, lambda result: False, max_trials=2).invoke({"task": TASK})
    assert kinds(heard[1]) == ["human", "ai", "tool", "human"]
    assert heard[1][2].text == NOT_CALLED


@pytest.mark.parametrize("saved", [True, False])
@pytest.mark.slow
def test_a_trial_that_broke_off_goes_on_in_another_process_where_the_one_before_has_ended(folder, tmp_path, saved):
    saver = InMemorySaver()
    breaks = [True]

    def graph():
        """As another process builds it: no live world is left."""
        model, tools, check = appending(folder)

        @tool
        def append() -> str:
            """Append a line, and break off in the second trial."""
            said = tools[0].invoke({})
            if breaks and (folder / "lines").read_text().count("\n") == 2:
                breaks.clear()
                raise RuntimeError("the power is gone")
            return said

        world = WorkspaceFolder(folder, store=tmp_path / "store") if saved else None
        agent = create_agent(model, [append], checkpointer=False)
        return going_on(lr.WrappedAgent(agent, reset=world), check, saver), model

    first, _ = graph()
    with pytest.raises(RuntimeError, match="power"):
        first.invoke({"task": TASK}, THREAD)
    second, model = graph()
    final = second.invoke(None, THREAD)
    # Without a saved folder, the line of the attempt that broke off is there.
    assert (final["status"], final["trial"]) == ("solved", 3 if saved else 2)
    assert (folder / "lines").read_text() == "line\n" * 3
    assert kinds(model.prompts[0]) == ["human", "ai", "tool", "ai", "human"]


def test_a_task_that_has_failed_goes_on_with_more_trials(folder):
    model, tools, check = appending(folder)
    saver = InMemorySaver()
    agent = create_agent(model, tools)
    final = going_on(agent, check, saver, max_trials=2).invoke({"task": TASK}, THREAD)
    assert final["status"] == "failed"
    more = going_on(agent, check, saver, max_trials=3)
    more.update_state(THREAD, *lr.resume_point(final))
    assert more.invoke(None, THREAD)["status"] == "solved"
    assert kinds(model.prompts[-1])[:9] == ["human", *["ai", "tool", "ai", "human"] * 2]


def test_a_trial_that_a_budget_has_cut_short_begins_again_where_the_one_before_has_ended(folder):
    model, tools, check = appending(folder)
    saver = InMemorySaver()
    agent = create_agent(model, tools)
    budgets = lr.Budgets(task=lr.Budget(llm_calls=3))
    final = going_on(agent, check, saver, budgets=budgets).invoke({"task": TASK}, THREAD)
    assert (final["status"], final["trial"]) == ("budget", 2)
    more = going_on(agent, check, saver)
    more.update_state(THREAD, *lr.resume_point(final))
    assert more.invoke(None, THREAD)["status"] == "solved"
    begun = [prompt for prompt in model.prompts if prompt[-1].type == "human"]
    assert kinds(begun[2]) == ["human", "ai", "tool", "ai", "human"]


def test_another_task_on_the_same_thread_begins_a_conversation_of_its_own(folder):
    heard = []

    def answer(messages: list) -> str:
        heard.append([message.text for message in messages])
        return "no"

    graph = going_on(answer, lambda result: False, InMemorySaver(), max_trials=2)
    graph.invoke({"task": TASK}, THREAD)
    graph.invoke({"task": "Another one."}, THREAD)
    assert heard[2] == ["Another one."]


def test_a_judge_sees_the_whole_conversation(folder):
    model, tools, _ = appending(folder)
    judging = ScriptedChatModel(replies=lambda prompt: "It is not.\nVerdict: no")
    going_on(create_agent(model, tools), "llm", model=judging, max_trials=2).invoke(INPUT)
    assert [text_of(prompt).count("append") for prompt in judging.prompts] == [2, 4]


def test_the_middleware_keeps_its_limits_of_calls(folder):
    model, tools, check = appending(folder)
    around = lr.ReflexionMiddleware(evaluator=check, strategy="continue")
    limit = ModelCallLimitMiddleware(run_limit=3)
    final = create_agent(model, tools, middleware=[limit, around]).invoke(INPUT)
    assert final["messages"][-1].response_metadata["reflexion"]["status"] == "failed"


@pytest.mark.parametrize(
    ("agent", "why"),
    [
        (lr.WrappedAgent(make=lambda task: lambda messages: "1"), "make= makes new ones"),
        (lr.WrappedAgent(lambda given: "1", make_input=lambda task, lessons: task), "takes no messages"),
    ],
)
def test_an_agent_that_cannot_go_on_is_refused(agent, why):
    with pytest.raises(lr.ConfigurationError, match=why):
        going_on(agent, lambda result: True)


def test_an_agent_that_takes_a_text_is_refused():
    def answer(task: str) -> str:
        return task

    with pytest.raises(lr.ConfigurationError, match=r"takes no messages.*'feedback'"):
        going_on(answer, lambda result: True)


@pytest.mark.parametrize("name", [None, "the same"])
@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("answer", ["Answer {}.", "Paris."])
def test_messages_without_ids_of_their_own_are_told_from_those_of_earlier_trials(name, whole, answer):
    heard = []
    seen = []

    def agent(messages: list) -> list:
        heard.append(kinds(messages))
        number = len(heard)
        calls = [{"name": "look", "args": {"at": number}, "id": "call"}]
        new = [
            AIMessage("", tool_calls=calls),
            ToolMessage(f"seen {number}", tool_call_id="call"),
            AIMessage(answer.format(number), id=name),
        ]
        return [*messages, *new] if whole else new

    def check(task, result, trajectory):
        seen.append((result, [step["observation"] for step in trajectory]))
        return False

    going_on(agent, check, max_trials=3).invoke(INPUT)
    answered = "That was the answer."
    assert seen == [(answer.format(number), [f"seen {number}", answered]) for number in (1, 2, 3)]
    trial = ["ai", "tool", "ai", "human"]
    assert heard == [["human"], ["human", *trial], ["human", *trial, *trial]]


def test_a_call_that_is_not_json_has_a_result_too():
    heard = []

    def agent(messages: list) -> list:
        heard.append(messages)
        broken = {"name": "look", "args": '{"at": ', "id": "call-1", "error": None, "type": "invalid_tool_call"}
        return [*messages, AIMessage("", invalid_tool_calls=[broken])]

    going_on(agent, lambda task, result: False, max_trials=2).invoke(INPUT)
    _, last = heard
    assert kinds(last) == ["human", "ai", "tool", "human"]
    assert (last[2].tool_call_id, last[2].text) == ("call-1", NOT_CALLED)
