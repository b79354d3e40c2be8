"""The Reflexion agent (Shinn et al. 2023, Algorithm 1) as a graph of six nodes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import Runnable
from langgraph.graph import END, START, StateGraph
from pydantic import SkipValidation

from langgraph_reflexion.actors import ACTORS, make_actors
from langgraph_reflexion.agents import NO_MODEL, AgentEnvironment, WrappedAgent, agent_nodes, own_keys, schemas_for
from langgraph_reflexion.agents.continuing import expect_conversations
from langgraph_reflexion.envs import load_environment
from langgraph_reflexion.envs.base import Environment, prompts_of
from langgraph_reflexion.envs.pool import EpisodePool
from langgraph_reflexion.envs.protocols import SupportsGoOn, actors_of, for_actor
from langgraph_reflexion.errors import ConfigurationError, checked, one_of
from langgraph_reflexion.evaluators.all_of import AllOf, parts_of
from langgraph_reflexion.evaluators.base import Evaluator
from langgraph_reflexion.evaluators.make import EvaluatorName, asks_model, make_evaluator, make_truth
from langgraph_reflexion.evaluators.rubric import Rubric
from langgraph_reflexion.graph import routing
from langgraph_reflexion.graph.compiled import NAME, CompiledReflexion
from langgraph_reflexion.loop.answers import RejectedAnswers
from langgraph_reflexion.loop.budgets import Budgets
from langgraph_reflexion.loop.heuristic import Heuristic, HeuristicFunction
from langgraph_reflexion.loop.profiles import Profile, Rules, decide
from langgraph_reflexion.memory import Memory, make_memory
from langgraph_reflexion.memory.lessons import Lessons
from langgraph_reflexion.memory.reflector import ReflectionFunction, Reflector
from langgraph_reflexion.models.client import Client
from langgraph_reflexion.models.options import ModelOptions
from langgraph_reflexion.models.unasked import UnaskedChatModel
from langgraph_reflexion.models.worlds import expect_world
from langgraph_reflexion.nodes.act import Act
from langgraph_reflexion.nodes.approval import Approval
from langgraph_reflexion.nodes.evaluate import Evaluate
from langgraph_reflexion.nodes.heuristic_check import HeuristicCheck
from langgraph_reflexion.nodes.learning import learn_in_background
from langgraph_reflexion.nodes.node import Node
from langgraph_reflexion.nodes.observe import Observe
from langgraph_reflexion.nodes.reflect import Reflect
from langgraph_reflexion.nodes.reset import Reset
from langgraph_reflexion.prompts import Prompts
from langgraph_reflexion.state import ReflexionState, Strategy
from langgraph_reflexion.support.choices import Feedback, StrategyName
from langgraph_reflexion.support.langgraph import Router

NODES = ("reset", "act", "observe", "heuristic_check", "evaluate", "reflect")
RUNS = ("invoke", "ainvoke", "stream", "astream", "astream_events", "batch", "abatch")
"""The methods of a compiled graph that run it."""
_Graph = TypeVar("_Graph", bound=StateGraph[Any, Any, Any, Any])


@checked
def create_reflexion(
    model: BaseChatModel | str | Runnable[Any, Any] | Callable[..., Any] | WrappedAgent | list[Any] | None = None,
    environment: Environment | str | None = None,
    *,
    actor: str | Runnable[Any, Any] | Callable[..., Any] | WrappedAgent | list[Any] | None = None,
    evaluator: EvaluatorName | str | Evaluator | AllOf | list[Any] | Callable[..., Any] | None = None,
    truth: Evaluator | Callable[..., Any] | str | None = None,
    heuristic: HeuristicFunction | None = None,
    reflection_model: BaseChatModel | str | ReflectionFunction | None = None,
    memory: Memory | Lessons | int | None = None,
    strategy: Strategy | StrategyName | None = None,
    feedback: Feedback | None = None,
    max_trials: int | None = None,
    profile: Profile | Rules | str = "paper",
    prompts: Prompts | None = None,
    options: ModelOptions | None = None,
    budgets: Budgets | None = None,
    approval: Approval | None = None,
    state_schema: SkipValidation[type[ReflexionState] | None] = None,
) -> "ReflexionGraph":
    """Build the Reflexion agent around a model and an environment, or around an agent of your own.

    With an environment, its actions are the steps of a trial. With an agent as `actor` instead, one call of it is one
    trial, and its messages are the trajectory. The profile decides whatever is not given.

    Args:
        model: The actor (M_a): a chat model, or a name such as "openai:gpt-4o-mini" or "demo", which plays
            `alfworld`, `hotpotqa` and `fever` only. Beside an agent it reflects and judges; the model of an agent of
            `create_agent` or `create_deep_agent` unless given. An agent needs none if `reflection_model` is a chat
            model, or if nothing asks one, as under `retry` with an evaluator of code. An agent in its place is taken
            as `actor`. A list is one for each trial, and the last for all further ones, such as a small model and
            then a large one, or one model at rising temperatures; the first also reflects and judges then.
        environment: The tasks and the actions that solve them, or a name such as "alfworld".
        actor: `react` (ReAct as text, for any chat model), `tools` (native tool calls), or an actor of the
            environment's such as `cot`; without an environment a compiled graph, any runnable, a function, or a
            `WrappedAgent`, whose trials begin in a fresh world. A list of agents is one for each trial.
        evaluator: Scores a trial (M_e): `environment` (its own signal: an oracle), `llm`, `self-consistency` (five
            more samples; seven with `self-consistency:7`), `self-tests` (for programs), `none`, an `Evaluator`, or a
            function of `(task, trajectory)`, for an agent of any of `task`, `result`, `messages`, `state` and
            `trajectory`, that returns a bool, a score, `(score, feedback)` or an `Evaluation`. In a list, all have to
            accept a trial, and a later one is asked only if those before it do (`AllOf`). An agent needs one.
        truth: Says whether an agent has truly solved its task, to find out whether the evaluator can be trusted: a
            function as for `evaluator`, `exact`, or an `Evaluator`. What it says is recorded as `success` of each
            judged trial; no model sees it, and no task ends by it. An environment has its own.
        heuristic: Says after every action why the trial should stop, or None (h).
        reflection_model: Writes the reflections (M_sr) and judges; `model` unless given. A function of any of `task`,
            `trajectory`, `feedback`, `memory`, `result` and `score`, or an object with such a method
            `generate_reflection`, only reflects, and returns a text.
        memory: What is remembered of earlier trials and other tasks; an int is the number of reflections (Ω), and
            `Lessons()` stands for `Memory(lessons=Lessons())`.
        strategy: What a retry sees: `retry`, `feedback`, `last_attempt`, `reflexion`, `last_attempt_and_reflexion`,
            or `continue`, which resets nothing: the same conversation and world go on.
        feedback: How much of a failed evaluation is shown: `binary`, `scalar` or `words`.
        max_trials: The number of trials after which a task has failed.
        profile: `paper`, `preprint`, `upstream`, or your own `Profile`; `Rules` are one that is decided already.
        prompts: Your prompts; files that they do not have are the environment's.
        options: How models are called: retries, cache, prices, seed.
        budgets: What a trial, a task and the run may spend; a task that has spent it can be resumed (`resume_point`).
        approval: Where the run pauses for a person.
        state_schema: A subclass of `ReflexionState` (for an agent, of `WrappedAgentState`) with more fields.

    Returns:
        The uncompiled graph: checkpointer, store and name are the caller's. Its input is `{"task": task}` or
        `{"messages": [...]}`; its output is the final state, and as a node of another graph `OUTPUTS`.

    Raises:
        ConfigurationError: an argument is wrong, or two do not go together.
    """
    options = options or ModelOptions()
    budgets = budgets or Budgets()
    approval = approval or Approval()
    memory = Memory.of(memory)
    played = _who_plays(model, environment, actor, evaluator, approval)
    model = played.model
    agent = played.agent
    environment = played.environment
    reflector = Reflector.of(reflection_model)
    if reflector:
        # Code only reflects, so the actor's model judges.
        reflection_model = None
    if agent and model is None:
        # An agent acts by itself. Whatever else asks a model asks the one that reflects.
        model = cast(BaseChatModel | str | None, reflection_model)

    named_evaluator = evaluator if isinstance(evaluator, str) else None
    # Any other function has no numbers for the rules, and replaces the heuristic as a whole.
    limits = heuristic if isinstance(heuristic, Heuristic) else None
    rules = decide(
        profile,
        environment,
        actor=played.actor,
        strategy=strategy,
        evaluator=named_evaluator,
        feedback=feedback,
        heuristic=limits,
        max_trials=max_trials,
        memory_size=memory.most,
    )
    environment = _as_played(rules.applied_to(environment), rules, played.agents)
    reflects = Strategy(rules.strategy).reflects and not reflector
    if model is None:
        _expect_no_calls(evaluator, memory, rules, reflects=reflects)
        # The nodes need a client all the same. This model raises if it is asked.
        model = UnaskedChatModel()
    # A misspelt action would otherwise be done without anybody's approval.
    for action in approval.actions:
        one_of("approval.actions", action, environment.actions())
    prompts = prompts_of(environment).under(prompts)
    clients, second = Client.of_models(
        [cast(BaseChatModel | str, model), *played.later_models],
        cast(BaseChatModel | str | None, reflection_model),
        options,
        priced=budgets.limits_cost,
        # Taken as answered, so that a judge or a reflection whose server is down does not discard an agent's answer.
        answered=agent is not None,
    )
    _expect_worlds(clients, second, environment, reflects=reflects)

    kept = make_memory(memory, environment, second, prompts, rules, budgets, options, approval.reflections)
    acting = None
    if not agent:
        acting = make_actors(clients, environment, prompts, rules, kept.map)
    judge = make_evaluator(evaluator, second, acting, environment, prompts, rules, options.seed)
    known = make_truth(truth, second, acting, environment, prompts, rules, options.seed)
    if not judge.teaches:
        kept = kept.without_learning()
    pool = EpisodePool(environment, options.retries)
    stops = heuristic or rules.heuristic
    schemas = schemas_for(played.agents, state_schema)

    reset = Reset(pool, judge, Strategy(rules.strategy), budgets, approval, kept, known)
    evaluate = Evaluate(judge, pool, budgets, rules, kept, approval, known)
    loop: dict[str, Any] = {
        "reset": reset,
        "heuristic_check": HeuristicCheck(stops, budgets),
        "evaluate": evaluate,
        "reflect": Reflect(second, environment, prompts, kept, rules, options.seed, reflector),
    }
    if acting:
        # A heuristic of the user's is any function, and need not have this field.
        thoughts_count = getattr(stops, "count_thoughts", False)
        loop["act"] = Act(acting, options.seed, thoughts_count, _rejected(environment, rules))
        loop["observe"] = Observe(pool, approval.actions)
    else:
        keys = own_keys(schemas["state_schema"])
        loop |= agent_nodes(played.agents, reset, evaluate, stops, prompts, options.prices, keys)

    if memory.learns_now and judge.teaches:
        # The reflection on the last trial is a lesson for other tasks; the node leaves it out where it would be none.
        rules = replace(rules, reflects_at_end=True)
    graph = ReflexionGraph(
        loop=loop,
        rules=rules,
        pool=pool,
        clients=(*clients, second),
        pauses=approval.pauses,
        **schemas,
    )
    return connect(graph, loop, rules)


def _rejected(environment: Environment, rules: Rules) -> RejectedAnswers | None:
    """Return what tells rejected answers, which are sampled again; None if the profile samples none."""
    if not rules.rejects_answers:
        return None
    return RejectedAnswers(environment)


class _Played(NamedTuple):
    """Who plays which tasks."""

    model: Any
    """The model; None if none is given, and none is found in the agent."""
    agent: WrappedAgent | None
    """The agent of the first trial; None if the model plays."""
    environment: Environment
    actor: str | None
    """The actor's name; the profile's if None."""
    later_models: Sequence[Any] = ()
    """The models of the second and further trials, if there are several."""
    agents: Sequence[WrappedAgent] = ()
    """The agents of the trials."""


def _who_plays(
    model: Any, environment: Environment | str | None, actor: Any, evaluator: object, approval: Approval
) -> _Played:
    """Tell an agent from a model, and return what plays.

    Raises:
        ConfigurationError: two arguments do not go together, or the model is missing.
    """
    if actor is None and _is_agent(model):
        # The first argument is what most callers have: their agent.
        actor = model
        model = None
    if isinstance(environment, str):
        environment = load_environment(environment)
    if isinstance(actor, list):
        return _play_in_turn(model, environment, actor, evaluator, approval)
    if isinstance(model, list):
        return _models_in_turn(model, environment, actor, evaluator, approval)
    agent = WrappedAgent.of(actor, environment, evaluator, approval)
    if agent:
        return _Played(model or agent.model, agent, agent.environment, "agent", agents=[agent])
    if model is None:
        raise ConfigurationError("create_reflexion needs model=...: it is the actor")
    # Without an agent there is an environment: `WrappedAgent.of` has checked it.
    return _Played(model, None, cast(Environment, environment), actor)


def _play_in_turn(
    model: Any, environment: Environment | None, actors: list[Any], evaluator: object, approval: Approval
) -> _Played:
    """Return what plays where each trial has another agent."""
    if isinstance(model, list):
        raise ConfigurationError("model= and actor= are both lists: agents act with their own models, so give one")
    agents = WrappedAgent.each_of(actors, environment, evaluator, approval)
    first = agents[0]
    return _Played(model or first.model, first, first.environment, "agent", agents=agents)


def _models_in_turn(
    models: list[Any], environment: Environment | None, actor: Any, evaluator: object, approval: Approval
) -> _Played:
    """Return what plays where each trial has another model.

    Raises:
        ConfigurationError: there is no model, or an agent, which acts with its own.
    """
    if not models:
        raise ConfigurationError("model is an empty list: give at least one model")
    if environment is None:
        raise ConfigurationError("model= is a list, and an agent acts with its own model: give a list of agents")
    for number, model in enumerate(models):
        if not isinstance(model, BaseChatModel | str):
            raise ConfigurationError(f"model[{number}]: a chat model or its name is needed; got {model!r:.100}")
    played = _who_plays(models[0], environment, actor, evaluator, approval)
    return played._replace(later_models=models[1:])


def _as_played(environment: Environment, rules: Rules, agents: Sequence[WrappedAgent]) -> Environment:
    """Return the environment as the actor that the rules name plays it.

    Raises:
        ConfigurationError: there is no such actor, or the strategy does not fit.
    """
    if not isinstance(environment, AgentEnvironment):
        actor = one_of("actor", rules.actor, [*ACTORS, *actors_of(environment)])
        environment = for_actor(environment, actor)
    if Strategy(rules.strategy).continues:
        _expect_going_on(environment, agents)
    return environment


def _expect_going_on(environment: Environment, agents: Sequence[WrappedAgent]) -> None:
    """Check that a trial can go on where the one before it has ended.

    Raises:
        ConfigurationError: it cannot.
    """
    expect_conversations(agents)
    if not isinstance(environment, SupportsGoOn):
        raise ConfigurationError(
            f"strategy='continue': an episode of {environment.name} ends for good, and nothing goes on after it: "
            "choose another strategy, such as 'feedback' or 'last_attempt' (an environment of your own can have a "
            "method go_on)"
        )


def _is_agent(given: object) -> bool:
    """Return whether the first argument is an agent, and not the model."""
    if isinstance(given, BaseChatModel | str):
        return False
    if isinstance(given, list):
        return bool(given) and all(_is_agent(each) for each in given)
    return callable(given) or isinstance(given, Runnable | WrappedAgent)


def _expect_worlds(clients: Sequence[Client], second: Client, environment: Environment, *, reflects: bool) -> None:
    """Check that models which play some worlds only, as the demo model does, can do what is asked of them.

    Raises:
        ConfigurationError: a model does not play the environment.
    """
    if isinstance(environment, AgentEnvironment):
        # The agent acts with its own model, so this one is only asked to reflect.
        if reflects:
            expect_world(second.model, "agents of your own")
        return
    for client in clients:
        expect_world(client.model, environment.name)
    expect_world(second.model, environment.name)


def _expect_no_calls(evaluator: object, memory: Memory, rules: Rules, *, reflects: bool) -> None:
    """Check that a graph around an agent can do without a model.

    Raises:
        ConfigurationError: a model would be called to judge, to write lessons, to condense or to reflect.
    """
    asks = _what_asks(evaluator, memory, rules, reflects=reflects)
    if asks:
        raise ConfigurationError(
            f"create_reflexion needs model=..., as in create_reflexion(model, actor=...): {NO_MODEL}, and {asks}"
        )


def _what_asks(evaluator: object, memory: Memory, rules: Rules, *, reflects: bool) -> str:
    """Return what asks a model around an agent, as the end of a sentence; empty if nothing does."""
    for each in parts_of(evaluator):
        if isinstance(each, str) and asks_model(each):
            return f"evaluator={each!r} asks a chat model"
        if isinstance(each, Rubric) and each.asks_model:
            return "a Rubric asks a chat model; Rubric(..., model=...) has its own"
    if memory.learns:
        return "a chat model writes the lessons from success; Lessons(learn=False) needs none"
    if reflects:
        without = "strategy='retry' or 'feedback' needs none"
        return f"strategy={rules.strategy!r} has a chat model write the reflections; {without}"
    # Strategies that write no reflections have none to condense.
    if memory.keep == "summary" and Strategy(rules.strategy).reflects:
        return "Memory(keep='summary') has a chat model condense the reflections; keep='window' needs none"
    return ""


def connect(graph: _Graph, nodes: Mapping[str, Any], rules: Rules, metadata: Mapping[str, Any] = {}) -> _Graph:
    """Return a graph with the six nodes and the edges of the loop, to swap a node or change its input and output.

    Args:
        graph: An empty graph whose state has the fields of `ReflexionState`.
        nodes: The six nodes by name, such as `{**create_reflexion(...).loop, "evaluate": mine}`: asynchronous
            functions of the state and the config, or runnables. A function in place of `evaluate` that waits for a
            person's verdict needs an attribute `approval` with `verdicts`, which adds the edge back to it.
        rules: Which failed trials are reflected on: `create_reflexion(...).rules`.
        metadata: Metadata by node; LangGraph Studio shows the key `description`.
    """
    if set(nodes) != set(NODES):
        raise ConfigurationError(f"connect: the nodes are {', '.join(NODES)}; got {', '.join(nodes)}")
    after_evaluate = ["reflect", "reset", END]
    approval = getattr(nodes["evaluate"], "approval", None)
    if isinstance(approval, Approval) and approval.verdicts:
        # Its verdict is in a checkpoint before a person is asked, at a second visit.
        after_evaluate.append("evaluate")
    for name, path, ends in (
        ("reset", routing.unless_fault("act"), ["act", "evaluate"]),
        ("act", routing.unless_fault("observe"), ["observe", "evaluate"]),
        ("observe", routing.unless_fault("heuristic_check"), ["heuristic_check", "evaluate"]),
        ("heuristic_check", routing.after_heuristic_check, ["act", "evaluate"]),
        ("evaluate", routing.after_evaluate(rules), after_evaluate),
        ("reflect", routing.after_reflect, ["reset", END]),
    ):
        node = nodes[name]
        # Wrapped, a coroutine function also works under `invoke`, and is traced and timed.
        if not isinstance(node, Runnable):
            node = Node(node, name)
        graph.add_node(name, node, metadata=metadata.get(name))
        graph.add_conditional_edges(name, Router(path), ends)
    graph.add_edge(START, "reset")
    return graph


class ReflexionGraph(StateGraph[Any, Any, Any, Any]):
    """The graph before it is compiled.

    Args:
        loop: The six nodes by name, for `connect`.
        rules: The profile with the given names, numbers and `Heuristic`.
        pool: The live episodes.
        clients: The models of actor and reflection.
        pauses: Whether it pauses for a person.
        **schemas: Those of `StateGraph`.
    """

    def __init__(
        self,
        *,
        loop: Mapping[str, Any],
        rules: Rules,
        pool: EpisodePool,
        clients: Sequence[Client],
        pauses: bool,
        **schemas: Any,
    ) -> None:
        super().__init__(**schemas)
        self.loop = loop
        self.rules = rules
        self.pool = pool
        self.clients = clients
        self.pauses = pauses
        learn_in_background(loop["reflect"])

    def __repr__(self) -> str:
        name = self.pool.environment.name
        rules = self.rules
        return f"ReflexionGraph({name}, actor={rules.actor}, strategy={rules.strategy}, trials={rules.max_trials})"

    def __getattr__(self, name: str) -> Any:
        if name in RUNS:
            raise AttributeError(f"the graph is not compiled: create_reflexion(...).compile().{name}(...)")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def compile(self, *args: Any, **options: Any) -> CompiledReflexion:
        # LangGraph would name it `LangGraph`.
        options["name"] = options.get("name") or NAME
        compiled = super().compile(*args, **options)
        # As LangGraph's own `copy` makes another graph of the same parts.
        return CompiledReflexion(**vars(compiled))
