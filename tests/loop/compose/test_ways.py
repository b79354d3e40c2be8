"""A Reflexion graph in larger graphs: a node, a subgraph, a tool, middleware, a supervisor, a swarm, a deep agent."""

from typing import TypedDict
from uuid import UUID

import pytest
from deepagents import create_deep_agent
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableParallel
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_config
from langgraph.func import entrypoint
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.runtime import get_runtime
from langgraph.types import Command, Overwrite, Send, interrupt
from langgraph_supervisor import create_supervisor
from langgraph_supervisor.handoff import create_forward_message_tool
from langgraph_swarm import create_handoff_tool, create_swarm
from langsmith import Client, evaluate
from langsmith.schemas import Example

from langgraph_reflexion import ReflexionMiddleware, create_reflexion, load_environment
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.composing import LESSON, SOLVED, TASK, THREAD, Guessing, call

# langgraph-supervisor 0.0.31 stands on `create_react_agent`, which LangGraph has moved.
pytestmark = [pytest.mark.filterwarnings("ignore:create_react_agent has been moved"), pytest.mark.slow]

MESSAGES = {"messages": [HumanMessage(TASK)]}


class Order(TypedDict, total=False):
    """A state of its own."""

    question: str
    answer: str
    trials: int


class Settings(TypedDict):
    """The context of an agent."""

    user_id: str


def node(guessing, saver=None):
    """In a node of a larger graph with another state."""
    reflexion = guessing.graph().compile()

    def ask(state):
        return {"question": f"{state['question']} Please."}

    def solve(state):
        final = reflexion.invoke({"task": state["question"]})
        return {"answer": final["result"], "trials": final["trial"]}

    return StateGraph(Order).add_sequence([ask, solve]).add_edge(START, "ask").compile(checkpointer=saver)


def subgraph(guessing, saver=None):
    """As a node: what both states have in common goes in and out."""
    builder = StateGraph(MessagesState).add_node("solve", guessing.graph().compile())
    return builder.add_edge(START, "solve").compile(checkpointer=saver)


def as_tool(guessing, saver=None):
    """As a tool of an agent."""
    reflexion = guessing.graph().compile()

    @tool
    def solve(task: str) -> str:
        """Solve a task."""
        return reflexion.invoke({"task": task})["messages"][-1].text

    return create_agent(guessing.caller("solve", task=TASK), [solve], checkpointer=saver)


def middleware(guessing, saver=None):
    """As middleware of the agent itself."""
    around = ReflexionMiddleware(evaluator=guessing.is_three, model=guessing.reflects)
    return guessing.agent(middleware=[around], checkpointer=saver)


def supervisor(guessing, saver=None):
    """As a worker under a supervisor."""
    worker = guessing.graph().compile(name="guesser")
    return create_supervisor([worker], model=guessing.caller("transfer_to_guesser")).compile(checkpointer=saver)


def swarm(guessing, saver=None):
    """As one of a swarm."""
    handoff = create_handoff_tool(agent_name="guesser")
    alice = create_agent(guessing.caller("transfer_to_guesser"), [handoff], name="alice")
    worker = guessing.graph().compile(name="guesser")
    return create_swarm([alice, worker], default_active_agent="alice").compile(checkpointer=saver)


def deep(guessing, saver=None):
    """As a sub-agent of a deep agent."""
    return create_deep_agent(
        guessing.caller("task", description=TASK, subagent_type="guesser"),
        subagents=[{"name": "guesser", "description": "Guesses.", "runnable": guessing.graph().compile()}],
        checkpointer=saver,
    )


WAYS = [node, subgraph, as_tool, middleware, supervisor, swarm, deep]
HEARD = (as_tool, supervisor, deep)
"""The ways in which the caller passes on what it heard."""


def given_to(way):
    return {"question": TASK} if way is node else MESSAGES


def each_of(*ways):
    return pytest.mark.parametrize("way", ways, ids=lambda way: way.__name__)


@each_of(*WAYS)
def test_the_answer_comes_back_and_the_trials_stay_inside(way):
    guessing = Guessing()
    # A limit of the larger graph is meant for its own steps; the middleware runs among them.
    limit = {} if way is middleware else {"recursion_limit": 8}
    final = way(guessing).invoke(given_to(way), limit)
    guessing.expect_lessons()
    if way is node:
        assert final == {"question": f"{TASK} Please.", "answer": "It is 3.", "trials": 3}
        return
    assert not {"task", "trial", "status", "reflections"} & set(final)
    assert final["messages"][-1].text == ("I heard: It is 3." if way in HEARD else "It is 3.")
    told = [each for each in final["messages"] if "reflexion" in each.response_metadata]
    assert [each.response_metadata["reflexion"] for each in told] == ([] if way in (as_tool, deep) else [SOLVED])
    assert way not in (supervisor, swarm) or told[0].name == "guesser"


HANDED = {"role": "assistant", "content": "I hand this on."}


@pytest.mark.parametrize(
    "update",
    [
        lambda given: {"messages": [*given, HANDED]},
        lambda given: {"messages": HANDED},
        lambda given: {"messages": [*given, ("assistant", "I hand this on.")]},
        lambda given: [("messages", given), ("messages", HANDED)],
        lambda given: {"messages": Overwrite([*given, HANDED])},
    ],
    ids=["a dict", "a message alone", "words", "pairs", "overwrite"],
)
def test_an_agent_may_hand_on_in_any_form_that_langgraph_takes(update):
    def hand_on(state):
        return Command(goto="other", graph=Command.PARENT, update=update(state["messages"]))

    agent = StateGraph(MessagesState).add_node("hand_on", hand_on).add_edge(START, "hand_on").compile()
    reflexion = create_reflexion(actor=agent, evaluator=lambda result: True, strategy="retry").compile()

    def said_around(inner):
        parent = StateGraph(MessagesState)
        parent.add_node("first", inner)
        parent.add_node("other", lambda state: {"messages": [AIMessage("I have taken over.")]})
        parent.add_edge(START, "first")
        return [message.text for message in parent.compile().invoke(MESSAGES)["messages"]]

    assert said_around(reflexion) == said_around(agent) == [TASK, "I hand this on.", "I have taken over."]


@each_of(*WAYS)
async def test_an_interrupt_comes_out_and_its_answer_goes_in(way):
    answers = []

    @tool
    def look_up(number: int) -> str:
        """Look a number up."""
        answers.append(interrupt(f"What is {number}?"))
        return answers[-1]

    guessing = Guessing(tool=look_up)
    graph, given = way(guessing, InMemorySaver()), given_to(way)
    for number in (1, 2, 3):
        paused = await graph.ainvoke(given, THREAD)
        assert [question.value for question in paused["__interrupt__"]] == [f"What is {number}?"]
        given = Command(resume=f"{number}, said the person.")
    final = await graph.ainvoke(given, THREAD)
    assert "__interrupt__" not in final
    assert answers == ["1, said the person.", "2, said the person.", "3, said the person."]
    guessing.expect_lessons()


@each_of(subgraph, middleware)
def test_a_person_can_be_the_evaluator(way):
    guessing = Guessing()
    guessing.is_three = lambda task, result: interrupt(f"Is it right? {result}")
    graph, given = way(guessing, InMemorySaver()), MESSAGES
    for number, right in ((1, False), (2, False), (3, True)):
        paused = graph.invoke(given, THREAD)
        assert paused["__interrupt__"][0].value == f"Is it right? It is {number}."
        given = Command(resume=right)
    assert graph.invoke(given, THREAD)["messages"][-1].text.endswith("It is 3.")
    guessing.expect_lessons()


@each_of(subgraph, middleware, swarm)
def test_each_human_message_is_a_new_task(way):
    guessing = Guessing()
    graph = way(guessing, InMemorySaver())
    graph.invoke(MESSAGES, THREAD)
    final = graph.invoke({"messages": [{"role": "user", "content": TASK}]}, THREAD)
    assert final["messages"][-1].response_metadata["reflexion"] == SOLVED
    assert len(guessing.guesses.prompts) == 12


async def test_a_wrapped_agent_hands_on_in_a_swarm_in_the_middle_of_a_trial():
    def reply(messages):
        told = any(LESSON in message.text for message in messages)
        return call("transfer_to_bob") if told else AIMessage("It is 1.")

    guessing = Guessing()
    agent = create_agent(ScriptedChatModel(replies=reply), [create_handoff_tool(agent_name="bob")])
    reflexion = guessing.graph(agent)
    worker = reflexion.compile(name="guesser")
    bob = create_agent(ScriptedChatModel(replies=["Bob here."]), [], name="bob")
    swarm = create_swarm([worker, bob], default_active_agent="guesser").compile()
    final = await swarm.ainvoke(MESSAGES)
    assert (final["active_agent"], reflexion.pool._live) == ("bob", [])
    assert len(guessing.reflects.prompts) == 1, "the first trial failed, the second one handed on"
    # What was a note of the agent's to itself is not said to the others.
    assert [message.text for message in final["messages"]] == [
        TASK, "", "Successfully transferred to bob", "Bob here."
    ]  # fmt: skip


def test_a_sub_agent_of_a_deep_agent_has_the_middleware():
    guessing = Guessing()
    around = ReflexionMiddleware(guessing.reflects, evaluator=guessing.is_three)
    sub = {"name": "guesser", "description": "Guesses.", "system_prompt": "You guess."}
    sub |= {"model": guessing.guesses, "tools": [guessing.tool], "middleware": [around]}
    agent = create_deep_agent(guessing.caller("task", description=TASK, subagent_type="guesser"), subagents=[sub])
    assert agent.invoke(MESSAGES)["messages"][-1].text.endswith("It is 3.")
    guessing.expect_lessons()


def test_an_agent_plays_a_household_game_with_an_episodes_tools():
    environment = load_environment("alfworld")
    episode = environment.start(environment.tasks()[0])
    model = ScriptedChatModel(replies=[call("look"), call("inventory"), "Nothing."])
    final = create_agent(model, episode.tools).invoke({"messages": [HumanMessage(episode.observation)]})
    look, inventory = (message.text for message in final["messages"] if message.type == "tool")
    assert look.startswith("You are in the middle of a room.")
    assert inventory == "You are not carrying anything."


@pytest.mark.parametrize("how", ["invoke", "ainvoke"])
async def test_many_tasks_are_sent_onto_one_node_at_once(how):
    builder = StateGraph(MessagesState).add_node("solve", Guessing().graph().compile())
    builder.add_conditional_edges(START, lambda state: [Send("solve", MESSAGES)] * 8)
    graph = builder.compile()
    final = graph.invoke({"messages": []}) if how == "invoke" else await graph.ainvoke({"messages": []})
    assert [message.text for message in final["messages"] if message.type == "ai"] == ["It is 3."] * 8


async def test_it_runs_in_an_entrypoint_and_in_parallel():
    reflexion = Guessing().graph().compile()

    @entrypoint()
    async def solve(task: str) -> str:
        return (await reflexion.ainvoke({"task": task}))["result"]

    assert await solve.ainvoke(TASK) == "It is 3."
    both = RunnableParallel(one=reflexion, other=reflexion).invoke({"task": TASK})
    assert (both["one"]["trial"], both["other"]["trial"]) == (3, 3)


def test_a_supervisor_forwards_the_answer_by_the_workers_name():
    guessing = Guessing()
    worker = guessing.graph().compile(name="guesser")

    def reply(messages):
        heard = any("It is 3." in message.text for message in messages)
        return call("forward_message", from_agent="guesser") if heard else call("transfer_to_guesser")

    builder = create_supervisor(
        [worker],
        model=ScriptedChatModel(replies=reply),
        tools=[create_forward_message_tool("supervisor")],
        output_mode="full_history",
    )
    messages = builder.compile().invoke(MESSAGES)["messages"]
    assert (messages[-1].name, messages[-1].text) == ("supervisor", "It is 3.")
    assert [message.text for message in messages].count(TASK) == 1


# The name of the parameter in this warning differs from version to version.
@pytest.mark.filterwarnings("ignore:.* parameter is in beta")
def test_langsmith_evaluates_a_graph_offline(caplog):
    graph = Guessing().graph().compile()
    examples = [Example(id=UUID(int=1), inputs={"task": TASK}, outputs={"result": "It is 3."})]

    def solve(inputs):
        final = graph.invoke(inputs)
        return {"result": final["result"], "trials": len(final["trials"])}

    def correct(outputs, reference_outputs):
        return outputs["result"] == reference_outputs["result"]

    client = Client(api_url="http://127.0.0.1:9", api_key="none", tracing_sampling_rate=0.0, info={})
    [row] = evaluate(solve, data=examples, evaluators=[correct], upload_results=False, client=client)
    assert row["run"].outputs == {"result": "It is 3.", "trials": 3}
    assert [(each.key, each.score) for each in row["evaluation_results"]["results"]] == [("correct", True)]
    assert "feedback" not in caplog.text, "nothing is sent"


@pytest.mark.parametrize("how", ["invoke", "ainvoke"])
@pytest.mark.parametrize("kind", ["function", "asynchronous"])
@pytest.mark.parametrize("around", ["graph", "middleware"])
async def test_an_evaluator_reads_the_settings_of_a_call(how, kind, around):
    read = []

    def judge(result):
        read.append((get_config()["configurable"]["tone"], get_runtime().context))
        return True

    async def judge_asynchronously(result):
        return judge(result)

    evaluator = judge
    if kind == "asynchronous":
        evaluator = judge_asynchronously
    model = ScriptedChatModel(replies=["Hello."])
    if around == "graph":
        graph = create_reflexion(actor=create_agent(model, []), evaluator=evaluator).compile()
    else:
        within = ReflexionMiddleware(evaluator=evaluator)
        graph = create_agent(model, [], middleware=[within], context_schema=Settings)
    config = {"configurable": {"tone": "polite"}}
    if how == "invoke":
        graph.invoke(MESSAGES, config, context={"user_id": "ann"})
    else:
        await graph.ainvoke(MESSAGES, config, context={"user_id": "ann"})
    assert read == [("polite", {"user_id": "ann"})]
