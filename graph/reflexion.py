"""The Reflexion agent (Shinn et al. 2023, Algorithm 1) as a graph of six nodes."""

from collections.abc import Callable, Collection, Mapping
from functools import partial
from inspect import iscoroutinefunction
from types import NoneType
from typing import Any, Literal, TypeVar, get_args

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import Runnable
from langgraph.cache.base import BaseCache
from langgraph.graph import END, START, StateGraph

from langgraph_reflexion.actors.base import ACTORS, Actor, TextActor
from langgraph_reflexion.actors.original_react import TwoCallActor
from langgraph_reflexion.agents.no_environment import Alone
from langgraph_reflexion.agents.nodes import Deliver, Gather
from langgraph_reflexion.agents.runner import AgentNode, Try
from langgraph_reflexion.agents.wrapped import WrappedAgent, task_from
from langgraph_reflexion.budgets import Budgets
from langgraph_reflexion.envs.base import Environment
from langgraph_reflexion.envs.pool import EpisodePool
from langgraph_reflexion.envs.tested import Tested
from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.evaluators.base import EnvironmentEvaluator, Evaluator, FunctionEvaluator, Untested
from langgraph_reflexion.evaluators.llm_judge import LLMEvaluator
from langgraph_reflexion.evaluators.self_consistency import SelfConsistencyEvaluator
from langgraph_reflexion.evaluators.self_tests import SelfTestsEvaluator
from langgraph_reflexion.graph import routing
from langgraph_reflexion.graph.compiled import ReflexionGraph
from langgraph_reflexion.heuristic import HeuristicFunction
from langgraph_reflexion.memory.lesson_nodes import Inner, Lessoned
from langgraph_reflexion.memory.lessons import Lessons
from langgraph_reflexion.memory.memory_map import Mapper
from langgraph_reflexion.models.client import Client, name_of
from langgraph_reflexion.models.load import load_model
from langgraph_reflexion.models.meter import Meter
from langgraph_reflexion.models.prices import Price, price_of
from langgraph_reflexion.models.retries import Retries
from langgraph_reflexion.nodes.act import Act
from langgraph_reflexion.nodes.evaluate import Evaluate
from langgraph_reflexion.nodes.heuristic_check import HeuristicCheck
from langgraph_reflexion.nodes.node import Node
from langgraph_reflexion.nodes.observe import Observe
from langgraph_reflexion.nodes.reflect import Reflect
from langgraph_reflexion.nodes.reset import Reset, task_of
from langgraph_reflexion.nodes.summarised import SummarisingReflect
from langgraph_reflexion.profiles import ALL, Profile, load_profile
from langgraph_reflexion.prompts import Prompts, load_prompts
from langgraph_reflexion.state import AgentState, ReflexionState
from langgraph_reflexion.strategies import Feedback, Memory, Strategy

NODES = ("reset", "act", "observe", "heuristic_check", "evaluate", "reflect")
"""The six nodes, in the order of Algorithm 1."""

_Graph = TypeVar("_Graph", bound=StateGraph[Any, Any, Any, Any])


def create_reflexion(
    model: BaseChatModel | str,
    environment: Environment | None = None,
    *,
    actor: str | Runnable[Any, Any] | WrappedAgent | None = None,
    strategy: Strategy | str | None = None,
    evaluator: Evaluator | str | Callable[..., Any] | None = None,
    samples: int = 5,
    reflection_model: BaseChatModel | str | None = None,
    heuristic: HeuristicFunction | None = None,
    memory: Memory = "window",
    memory_size: int | None = None,
    lessons: Lessons | None = None,
    memory_map: bool = False,
    max_trials: int | None = None,
    feedback: Feedback | None = None,
    threshold: float = 1.0,
    profile: Profile | str = "paper",
    prompts: Prompts | None = None,
    budgets: Budgets | None = None,
    prices: Mapping[str, Price] | None = None,
    retries: Retries | None = None,
    cache: BaseCache[Any] | None = None,
    approve_actions: Collection[str] = (),
    approve_reflections: bool = False,
    seed: int = 0,
    state_schema: type[ReflexionState] | None = None,
) -> ReflexionGraph:
    """Build the Reflexion agent (Shinn et al. 2023, Algorithm 1) around a model and an environment, or an agent.

    With an environment, its actions are the steps of a trial. With an agent as `actor` instead, one call of it is one
    trial, and its messages are the trajectory.

    Args:
        model: The actor (M_a): a chat model, or its name as `load_model` takes it ("openai:gpt-4o-mini", "demo").
            Beside an agent it reflects, and judges.
        environment: Its tasks, and the actions that solve them.
        actor: `react` (ReAct as text, for any chat model), `tools` (native tool calls), or one of the environment's
            variants, such as HotPotQA's `cot` and `cot-gt`; the profile's unless given, which is mostly `react`.
            Without an environment, any compiled graph or runnable, as it is or in a `WrappedAgent`.
        strategy: What a retry gets to see: `retry`, `last_attempt`, `reflexion` or `last_attempt_and_reflexion`; the
            profile's unless given, which is mostly `reflexion`.
        evaluator: What passes the verdict (M_e): `environment` (its own signal: an oracle; the default with one),
            `llm` (the reflection model reads the trajectory), `self-consistency` (the actor is asked again),
            `self-tests` (tests that the model has written; the default for programs), `none` (no verdict: every
            trial runs), an `Evaluator` such as `CommandEvaluator("pytest -q")`, or a function of `(instruction,
            trajectory)` that returns a bool, a score, `(score, feedback)` or an `Evaluation`. For an agent it is a
            function of `(task, result)`: the text of its last message, or its output as it is where it has none.
        samples: How often `self-consistency` asks again; odd.
        reflection_model: Writes the reflections (M_sr) and judges; the actor's model unless given.
        heuristic: When to stop a trial (h); the profile's unless given.
        memory: What is kept of the reflections: a `window` of the last ones, the `full` list, or a `summarised` one,
            in which one more call condenses the oldest into one when there are more than fit.
        memory_size: How many reflections are kept (Ω); the profile's unless given.
        lessons: Lessons that outlive their task, in the store that the graph is compiled with
            (`compile(store=...)`); none unless given.
        memory_map: Whether the actor and the self-reflection are told, beside the trajectory, what the world has
            shown so far (the memory map of the preprint). What holds after a reset is told in later trials as well,
            where the strategy reflects. The environment draws it: ALFWorld, HotPotQA and WebShop do.
        max_trials: After how many trials a task has failed; the profile's unless given.
        feedback: How much of a failed verdict is told: `binary`, `scalar` or `words` (the default with an agent); the
            profile's unless given.
        threshold: From which score on a trial is a success.
        profile: `paper`, `preprint`, `upstream`, or one of your own.
        prompts: The prompts; the environment's own unless given.
        budgets: What a trial, a task and the run may spend. Whoever has spent it stops with status `budget`; see
            `reopen` for how it goes on.
        prices: What tokens cost, by the model's name; a budget of money needs them.
        retries: How often a model call, an action or a reset is tried again when it fails for a passing reason.
        cache: Where model answers are kept (a LangGraph cache), so that the same run costs nothing the second time.
            Two trials never share an answer.
        approve_actions: The names of the actions before which the run pauses for a person (`nodes.approval` says
            how to answer). Needs a checkpointer, as do pauses after reflections.
        approve_reflections: Whether the run pauses after each reflection.
        seed: Every model call gets a seed derived from this one, the task, the trial and the call.
        state_schema: A subclass of `ReflexionState` (for an agent, of `AgentState`) that carries more fields through
            the run.

    Returns:
        The graph, not compiled, so that checkpointer, store and name are the caller's. Its input is
        `{"task": task}`, for an agent also `{"messages": [...]}`; its output is the final state.

    Raises:
        ConfigurationError: a setting is wrong.

    Example:
        ```python
        environment = load_environment("alfworld")
        graph = create_reflexion(ChatOpenAI(model="gpt-4o-mini"), environment).compile()
        final = graph.invoke({"task": environment.tasks()[0]})
        print(final["status"], final["reflections"])
        ```
    """
    agent = _agent(actor, environment, evaluator)
    environment = environment or Alone()
    named_actor = actor if isinstance(actor, str) else None
    settings = load_profile(profile).of(environment.name, "agent" if agent else named_actor, strategy)
    chosen = Strategy(_one_of("strategy", settings.strategy, list(Strategy)))
    way = settings.agent if agent else _one_of("actor", settings.agent, [*ACTORS, *environment.variants])
    if way in environment.variants:
        environment = environment.variant(way)
    kept = _one_of("memory", memory, get_args(Memory))
    memory_size = ALL if kept == "full" else _at_least_one("memory_size", memory_size, settings.memory_size)
    max_trials = _at_least_one("max_trials", max_trials, settings.max_trials)
    feedback = _one_of("feedback", feedback or ("words" if agent else settings.feedback), get_args(Feedback))
    evaluator = evaluator or settings.evaluator
    prompts = prompts or load_prompts(environment.prompts or environment.name)
    mapper = Mapper(environment, prompts, lasting=chosen.reflects) if memory_map else None
    pool, budgets, retries = EpisodePool(environment), budgets or Budgets(), retries or Retries()

    def client(model: BaseChatModel | str) -> Client:
        made = load_model(model) if isinstance(model, str) else model
        if not isinstance(made, Runnable):
            raise ConfigurationError(f"model must be a chat model or its name; got {type(made).__name__}")
        price = price_of(name_of(made), prices or {}, needed=budgets.limits_cost)
        return Client(made, retries=retries, price=price, cache=cache)

    chooses = client(model)
    reflects = chooses if reflection_model is None or reflection_model is model else client(reflection_model)
    stops = heuristic or settings.heuristic
    named: dict[str, Callable[[], Evaluator]] = {
        "environment": EnvironmentEvaluator,
        "llm": lambda: LLMEvaluator(reflects, prompts, seed),
        "none": Untested,
    }
    if evaluator == "environment" and isinstance(environment, Tested):
        raise ConfigurationError(
            f"evaluator='environment': {environment.name} passes no verdict, as its hidden tests stay out of the loop"
        )
    asks_first = _known_actions(approve_actions, environment)
    steps: dict[str, Any]
    if agent:
        judge = _evaluator(evaluator, named, "result")
        trying = Try(agent, prompts, feedback, stops, budgets, lambda: Meter(prices or {}))
        judging: Evaluate = Deliver(judge, pool, budgets, threshold, max_trials)
        steps = {"act": AgentNode(trying), "observe": Gather()}
    else:
        acts: Callable[..., Actor] = ACTORS.get(way, TextActor)
        if settings.two_calls and acts is TextActor:
            acts = partial(TwoCallActor, numbered=settings.numbered, truncation=settings.truncation)
        shown = {"examples": settings.examples, "shows_memory": settings.shows_memory}
        acting = acts(chooses, environment, prompts, feedback=feedback, mapper=mapper, **shown)
        named["self-consistency"] = lambda: SelfConsistencyEvaluator(acting, seed, samples)
        named["self-tests"] = lambda: SelfTestsEvaluator(reflects, environment, prompts, seed, settings.tests)
        judge = _evaluator(evaluator, named, "trajectory")
        judging = Evaluate(judge, pool, budgets, threshold, max_trials)
        steps = {"act": Act(acting, seed), "observe": Observe(pool, retries, asks_first)}
    reflecting = (SummarisingReflect if kept == "summarised" else Reflect)(
        reflects,
        prompts,
        feedback,
        memory_size,
        seed,
        truncation=settings.truncation,
        with_memory=settings.reflects_on_memory,
        mapper=mapper,
    )
    resetting = Reset(
        pool,
        judge,
        chosen,
        retries,
        budgets,
        read_task=task_from if agent else task_of,
        clears=("attempt", "result") if agent else ("known",) if mapper else (),
        pauses=bool(approve_actions or approve_reflections),
        approve_reflections=approve_reflections,
        mapper=mapper,
    )
    loop: dict[str, Inner] = {"reset": resetting, "evaluate": judging, "reflect": reflecting}
    if lessons:
        around = Lessoned(lessons, environment.name, settings.name, reflects, prompts, budgets, seed, retries)
        loop = around(loop, approves=approve_reflections)

    graph = ReflexionGraph(state_schema or (AgentState if agent else ReflexionState))
    graph.clients, graph.pool = (chooses, reflects), pool
    return connect(graph, {**loop, **steps, "heuristic_check": HeuristicCheck(stops, budgets)}, chosen)


def reflexion_nodes(graph: ReflexionGraph) -> dict[str, Any]:
    """Return the six nodes of a graph by name: replace one, and `connect` them to another graph.

    Args:
        graph: What `create_reflexion` returned.
    """
    built = {name: spec.runnable for name, spec in graph.nodes.items()}
    return {name: node.function if isinstance(node, Node) else node for name, node in built.items()}


def connect(
    graph: _Graph,
    nodes: Mapping[str, Any],
    strategy: Strategy | str,
    *,
    metadata: Mapping[str, dict[str, Any]] | None = None,
) -> _Graph:
    """Add the six nodes and the edges of the loop to a graph, and return it.

    Args:
        graph: A graph over `ReflexionState` or a subclass, whose input and output may have schemas of their own.
        nodes: The nodes by name: those of `reflexion_nodes`, or functions of `(state, config)` that return an
            update of the state.
        strategy: Decides whether a failed trial is reflected on.
        metadata: Metadata of the nodes by name; LangGraph Studio shows the key `description`.

    Raises:
        ConfigurationError: a node is missing or unknown, or there is no such strategy.

    Example:
        ```python
        nodes = reflexion_nodes(create_reflexion("openai:gpt-4o-mini", environment))
        nodes["evaluate"] = my_evaluate
        graph = connect(StateGraph(ReflexionState), nodes, "reflexion").compile()
        ```
    """
    if set(nodes) != set(NODES):
        raise ConfigurationError(f"connect(nodes={{{', '.join(nodes)}}}): the loop has exactly {', '.join(NODES)}")
    chosen = Strategy(_one_of("strategy", strategy, list(Strategy)))
    for name in NODES:
        node = nodes[name]
        # LangGraph cannot call an async function from `graph.invoke`.
        if iscoroutinefunction(node) or (callable(node) and iscoroutinefunction(type(node).__call__)):
            node = Node(node)
        graph.add_node(name, node, metadata=(metadata or {}).get(name))
    graph.add_edge(START, "reset")
    graph.add_conditional_edges("reset", routing.after_reset, ["act", "evaluate"])
    graph.add_conditional_edges("act", routing.after_act, ["observe", "evaluate"])
    graph.add_conditional_edges("observe", routing.after_observe, ["heuristic_check", "evaluate"])
    graph.add_conditional_edges("heuristic_check", routing.after_heuristic_check, ["act", "evaluate"])
    graph.add_conditional_edges("evaluate", routing.after_evaluate(chosen), ["reflect", "reset", END])
    graph.add_conditional_edges("reflect", routing.after_reflect, ["reset", END])
    return graph


def _agent(
    actor: str | Runnable[Any, Any] | WrappedAgent | None,
    environment: Environment | None,
    evaluator: Evaluator | str | Callable[..., Any] | None,
) -> WrappedAgent | None:
    if isinstance(actor, Runnable):
        actor = WrappedAgent(actor)
    if not isinstance(actor, (str, WrappedAgent, NoneType)):
        raise ConfigurationError(
            f"actor must be a name, a compiled graph or another Runnable; got {type(actor).__name__}"
        )
    if isinstance(actor, WrappedAgent) == (environment is not None):
        raise ConfigurationError(
            "give either an environment, whose actions are the steps, or an agent as actor, whose calls are trials"
        )
    if environment is None and evaluator in (None, "environment"):
        raise ConfigurationError(
            "an agent needs a verifier: evaluator='llm', CommandEvaluator('...'), or a function of (task, result)"
        )
    return actor if isinstance(actor, WrappedAgent) else None


def _evaluator(
    evaluator: Evaluator | str | Callable[..., Any],
    named: Mapping[str, Callable[[], Evaluator]],
    of: Literal["trajectory", "result"],
) -> Evaluator:
    if isinstance(evaluator, Evaluator):
        return evaluator
    if callable(evaluator):
        return FunctionEvaluator(evaluator, of)
    return named[_one_of("evaluator", evaluator, list(named))]()


def _known_actions(names: Collection[str], environment: Environment) -> frozenset[str]:
    known = environment.episode.actions()
    for name in [names] if isinstance(names, str) else names:
        _one_of("approve_actions", name, list(known))
    return frozenset([names] if isinstance(names, str) else names)


def _one_of(option: str, value: Any, allowed: Any) -> Any:
    if value not in [str(each) for each in allowed]:
        raise ConfigurationError(f"{option}={value!r}: choose one of {', '.join(map(str, allowed))}")
    return value


def _at_least_one(option: str, value: int | None, default: int) -> int:
    if value is None:
        return default
    if value < 1:
        raise ConfigurationError(f"{option}={value}: at least 1 is needed")
    return value
