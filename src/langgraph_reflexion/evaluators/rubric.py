"""A rubric: criteria in words, each of which a model judges by itself."""

import json
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, SystemMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool

from langgraph_reflexion.envs.base import Task
from langgraph_reflexion.errors import ConfigurationError, ToolsRefused
from langgraph_reflexion.evaluators.base import Evaluator, Score
from langgraph_reflexion.evaluators.criteria import INPUT, MOST_CRITERIA, criteria_of_input, read_criteria
from langgraph_reflexion.evaluators.judge_tools import (
    MOST_ROUNDS,
    Agent,
    GivenTools,
    Look,
    bounded,
    calls_in,
    look,
    needs_world,
    read_tools,
    said_by,
    schemas_of,
    tools_in,
)
from langgraph_reflexion.evaluators.verdicts import (
    REPORT,
    REPORT_SCHEMA,
    CriterionVerdict,
    read_reports,
    read_verdicts,
    verdicts_schema,
)
from langgraph_reflexion.loop.conversation import task_in_talk, with_pictures
from langgraph_reflexion.loop.events import emit_criterion
from langgraph_reflexion.loop.prompting import Prompt, bounded_trial
from langgraph_reflexion.models.calls import CallId, note
from langgraph_reflexion.models.client import Client
from langgraph_reflexion.models.limits import LIMITS
from langgraph_reflexion.prompts import Prompts
from langgraph_reflexion.state import ReflexionState, Step, steps_so_far
from langgraph_reflexion.support.files import read_text

LONGEST_QUOTATION = 300
"""Characters of a piece of evidence that the feedback shows."""

TOKENS = 100
"""Tokens of a reply for each criterion, where that is more than a judge's limit."""

PREPARED = "rubric"
"""The key of `task["prepared"]` under which a task's criteria are kept over its trials."""


class Rubric(Evaluator):
    """Criteria in words. A model says of each whether the trial meets it, with the evidence and what is missing.

    The score is the share of criteria that are met. The feedback lists what is missing, and what is met and has to
    stay so. A criterion that the judge skips is asked for once more; if it is skipped again, or cannot be judged from
    the trial, it counts as unverified, and so as not met.

    Args:
        criteria: A list of criteria, or a text: each item of a list in it is one, and each other paragraph. Headings,
            and a line that introduces a list by a colon, are none.
        model: The judge; the model that reflects unless given.
        tools: What the judge may look with before its verdicts, while the world of the trial is there: LangChain
            tools or functions, in at most `MOST_ROUNDS` replies; or an agent that takes and returns `messages`, which
            then judges itself; or a function of the trial's world that returns either.
        threshold: The share of criteria that has to be met.
        from_input: Whether further criteria come with the input: `data["rubric"]` of the task, or `rubric` of the
            context, which counts more. Nothing is learned for other tasks then.

    Raises:
        ConfigurationError: there are no criteria, or too many, the threshold is not above 0 and at most 1, or
            `tools` holds something that is not a tool.
    """

    label = "The rubric"
    by_model = True

    def __init__(
        self,
        criteria: str | Sequence[str] = (),
        *,
        model: BaseChatModel | str | None = None,
        tools: GivenTools = (),
        threshold: float = 1.0,
        from_input: bool = False,
    ) -> None:
        self.criteria = read_criteria(criteria)
        self.model = model
        self.threshold = threshold
        self.from_input = from_input
        self.teaches = not from_input
        self.needs_world = needs_world(tools)
        self.tools = tools
        if not self.needs_world:
            self.tools = read_tools(tools)
        self._client: Client | None = None
        self._prompts: Prompts | None = None
        self._seed = 0
        if not self.criteria and not from_input:
            raise ConfigurationError("Rubric.criteria is empty: give at least one criterion in words")
        if not isinstance(threshold, int | float) or not 0 < threshold <= 1:
            raise ConfigurationError(
                f"Rubric.threshold={threshold!r}: the share of criteria is a number above 0, and at most 1"
            )

    @classmethod
    def of_file(cls, path: Path | str) -> "Rubric":
        """Return the rubric whose criteria are a file's text.

        Raises:
            ConfigurationError: there is no such file, or its criteria are wrong.
        """
        file = Path(path).expanduser()
        if not file.is_file():
            raise ConfigurationError(f"rubric: there is no file {file}")
        try:
            return cls(read_text(file))
        except ConfigurationError as error:
            raise ConfigurationError(f"{file}: {error}") from error

    @property
    def asks_model(self) -> bool:
        """Whether it asks the model of the graph."""
        judges_itself = not self.needs_world and not isinstance(self.tools, list)
        return self.model is None and not judges_itself

    def bind(self, client: Client, prompts: Prompts, seed: int) -> "Rubric":
        """Return the rubric with the model that judges: its own, or the graph's."""
        # A copy, as several graphs, each with its own model, may be given the same rubric.
        bound = copy(self)
        bound._client = client
        if self.model is not None:
            bound._client = client.for_model(self.model)
        bound._prompts = prompts
        bound._seed = seed
        return bound

    async def prepare(self, task: Task, config: RunnableConfig) -> dict[str, Any]:
        """Return the criteria of the task, which stay as they are over its trials.

        Raises:
            ConfigurationError: those of the input are missing or wrong.
        """
        if not self.from_input:
            return {}
        criteria = [*self.criteria, *criteria_of_input(task)]
        if not criteria:
            raise ConfigurationError(
                f"the task {task['id']!r} has no rubric: give it as data={{'{INPUT}': ...}} of the task, or as "
                f"context={{'{INPUT}': ...}}"
            )
        if len(criteria) > MOST_CRITERIA:
            raise ConfigurationError(
                f"the rubrics of the task {task['id']!r} and of the graph have {len(criteria)} criteria together, "
                f"and may have {MOST_CRITERIA}"
            )
        return {PREPARED: criteria}

    async def evaluate(self, state: ReflexionState, config: RunnableConfig) -> Score:
        """Ask the judge about all criteria, and once more about those that its reply skips.

        Raises:
            ConfigurationError: there is no model, or the world that tools need.
            ModelFault: there is no reply.
        """
        if self._client is None or self._prompts is None:
            raise ConfigurationError("a Rubric asks the model of the graph that it is given to as evaluator=")
        criteria = self.criteria
        if self.from_input:
            # A state may have been edited.
            criteria = read_criteria(state["task"].get("prepared", {}).get(PREPARED, self.criteria))
        world = cast(dict[str, Any], state).get("world")
        if self.needs_world and world is None:
            raise ConfigurationError(
                "Rubric.tools is a function of the world, which only a wrapped agent has: with an environment, give "
                "a list of tools"
            )
        tools = await tools_in(self.tools, world)
        # The author of a criterion that came with the input may try to speak to the judge.
        foreign = frozenset(criteria) - frozenset(self.criteria)
        judge = _Judge(self._client, self._prompts, self._seed, tools, state, config, foreign)
        verdicts: dict[int, CriterionVerdict] = {}
        for again in (False, True):
            asked = [number for number in range(1, len(criteria) + 1) if number not in verdicts]
            if not asked:
                break
            wanted = [criteria[number - 1] for number in asked]
            found = await judge.verdicts(wanted, again=again)
            # The judge counts the criteria that it is asked about, from 1.
            for place, verdict in found.items():
                number = asked[place - 1]
                verdicts[number] = verdict
                emit_criterion(state, number, criteria[number - 1], vars(verdict))
        return self._score(state, criteria, verdicts)

    def _score(
        self, state: ReflexionState, criteria: Sequence[str], verdicts: Mapping[int, CriterionVerdict]
    ) -> Score:
        """Return the share of criteria that are met, and the feedback on each."""
        met: list[str] = []
        not_met: list[str] = []
        unverified: list[str] = []
        for number, criterion in enumerate(criteria, 1):
            verdict = verdicts.get(number, CriterionVerdict())
            if number not in verdicts:
                emit_criterion(state, number, criterion, {"evidence": "", "missing": "", "met": "unknown"})
            if verdict.met == "yes":
                met.append(f"- {criterion}")
            elif verdict.met == "no":
                not_met.append(_explained(criterion, verdict))
            else:
                unverified.append(_explained(criterion, verdict))
                note(f"rubric: criterion {number} could not be judged, which counts as not met")
        share = len(met) / len(criteria)
        sections = [f"{len(met)} of {len(criteria)} criteria are met."]
        if not_met:
            sections.append("\n".join(["Not met:", *not_met]))
        if unverified:
            sections.append("\n".join(["The trial does not show whether these are met:", *unverified]))
        if met and (not_met or unverified):
            sections.append("\n".join(["Met, and to be kept so:", *met]))
        success = share >= self.threshold
        # If the criteria that could not be judged would make it a success, the verdict on the trial is open.
        highest_share = (len(met) + len(unverified)) / len(criteria)
        is_open = not success and highest_share >= self.threshold
        return Score(share, "\n\n".join(sections), success=success, unverified=is_open)


@dataclass
class _Judge:
    """Who judges one trial: the model, with tools or without, or an agent."""

    client: Client
    prompts: Prompts
    seed: int
    tools: list[BaseTool] | Agent
    state: ReflexionState
    config: RunnableConfig
    foreign: frozenset[str] = frozenset()
    """The criteria that came with the input, whose author may be a stranger."""
    looks: list[Look] = field(default_factory=list)
    """What the tools have shown so far."""

    async def verdicts(self, criteria: Sequence[str], *, again: bool) -> dict[int, CriterionVerdict]:
        """Return the verdicts on these criteria, by their places, that the judge has given.

        Args:
            criteria: The criteria.
            again: Whether they were skipped before. Then labelled lines are asked for, which every model can write.
        """
        if not isinstance(self.tools, list):
            return await self._of_agent(self.tools, criteria, again=again)
        if again:
            reply = await self._ask(criteria, "evaluate again", [])
            return read_verdicts(reply.text, len(criteria))
        return await self._after_looking(self.tools, criteria)

    async def _after_looking(self, tools: list[BaseTool], criteria: Sequence[str]) -> dict[int, CriterionVerdict]:
        """Let the model call tools, until it gives its verdicts."""
        structured = has_structured_output(self.client.model)
        if structured and not tools and self.client.has_own_server:
            # Such servers hold to a schema by a grammar, which a small model's tool calls do not need to follow.
            reply = await self._ask(criteria, "evaluate", [], as_json=True)
            return read_verdicts(reply.text, len(criteria))
        offered = schemas_of(tools)
        if tools:
            _expect_calls_tools(self.client.model)
        # Other models may not be able to call a tool, and every model can write labelled lines.
        if tools or structured:
            offered.append(REPORT_SCHEMA)
        name = "evaluate"
        rounds = 0
        while True:
            try:
                reply = await self._ask(criteria, name, offered)
            except ToolsRefused:
                # Its verdicts without having looked would not be what was asked for.
                if tools:
                    raise
                offered = []
                continue
            calls = calls_in(reply, offered)
            reports = [call.args for call in calls if call.name == REPORT]
            if reports:
                return read_reports(reports, len(criteria))
            # Where no tool to look with was offered, calls are not done.
            may_look = bool(tools) and rounds < MOST_ROUNDS
            if not calls or not may_look:
                return read_verdicts(reply.text, len(criteria))
            self.looks += await look(tools, calls, self.config)
            rounds += 1
            name = f"evaluate {rounds + 1}"
            if rounds == MOST_ROUNDS:
                note(f"rubric: the judge has called tools in {MOST_ROUNDS} replies, and had to give its verdicts")
                offered = [REPORT_SCHEMA]

    async def _ask(
        self, criteria: Sequence[str], name: str, offered: list[dict[str, Any]], *, as_json: bool = False
    ) -> AIMessage:
        call = CallId(self.seed, self.state["task"]["id"], self.state["trial"], name)
        reports = bool(offered)
        # Whatever is offered beside the report is there to look with.
        looks = len(offered) > 1
        prompt = self._prompt(criteria, reports=reports, looks=looks, as_json=as_json)
        schema = None
        if as_json:
            schema = verdicts_schema(len(criteria))
        # Fifty verdicts do not fit into the limit of one.
        limit = max(LIMITS["evaluate"], TOKENS * len(criteria))
        reply = await prompt.ask(
            self.client,
            self.state["prompt_budget"],
            self.config,
            call,
            tools=offered,
            max_tokens=limit,
            schema=schema,
        )
        return reply.message

    def _prompt(self, criteria: Sequence[str], *, reports: bool, looks: bool, as_json: bool = False) -> Prompt:
        """Return the prompt on the finished trial.

        Args:
            criteria: The criteria to judge.
            reports: Whether the verdicts are to be given by a call of `REPORT`.
            looks: Whether other tools may be called before.
            as_json: Whether the verdicts are to be given as JSON.
        """

        def render(steps: list[Step], _: int) -> list[BaseMessage]:
            task = task_in_talk(self.state, self.prompts)
            trial = self.prompts.render("trial", observation=task, steps=bounded_trial(steps))
            if self.looks:
                looked = self.prompts.render("looked", looks=bounded(self.looks))
                trial = f"{trial}\n\n{looked}"
            about = self.prompts.render(
                "rubric",
                criteria=[self._shown(criterion) for criterion in criteria],
                quotes=not self.foreign.isdisjoint(criteria),
                reports=reports,
                looks=looks,
                as_json=as_json,
                rounds=MOST_ROUNDS,
                report=REPORT,
            )
            return [SystemMessage(about), with_pictures(trial, self.state, self._model)]

        return Prompt(render, steps_so_far(self.state))

    def _shown(self, criterion: str) -> str:
        """Return a criterion as the judge sees it: one of the input is quoted, as it could speak to the judge."""
        if criterion in self.foreign:
            return json.dumps(criterion, ensure_ascii=False)
        return criterion

    @property
    def _model(self) -> Any:
        """The model that reads the prompt; None if only the agent knows it."""
        if isinstance(self.tools, list):
            return self.client.model
        return None

    async def _of_agent(self, agent: Agent, criteria: Sequence[str], *, again: bool) -> dict[int, CriterionVerdict]:
        """Let an agent judge."""
        name = "evaluate"
        if again:
            name = "evaluate again"
        call = CallId(self.seed, self.state["task"]["id"], self.state["trial"], name)
        prompt = self._prompt(criteria, reports=False, looks=False)
        # The prompt is not shortened, as nobody here knows how much fits into the agent's models.
        messages = prompt.render(list(prompt.steps), 0)

        async def ask(_: BaseChatModel, counting: RunnableConfig) -> Any:
            return await agent.ainvoke({"messages": messages}, counting)

        result = await self.client.lend(ask, self.config, call, own_models=True)
        return read_verdicts(said_by(result), len(criteria))


def has_structured_output(model: object) -> bool:
    """Return whether a model gives structured output, by LangChain's profile of it; a model without one does not."""
    profile = getattr(model, "profile", None) or {}
    return bool(profile.get("structured_output") or profile.get("tool_calling"))


def _expect_calls_tools(model: Any) -> None:
    """Raise ConfigurationError if a judge with tools cannot call them."""
    try:
        # LangChain's base class of chat models raises this error, and nothing is sent.
        model.bind_tools([REPORT_SCHEMA])
    except NotImplementedError as error:
        raise ConfigurationError(
            f"Rubric.tools: {type(model).__name__} does not support tool calls: give a judge that does as model="
        ) from error


def _explained(criterion: str, verdict: CriterionVerdict) -> str:
    """Return a criterion that is not met with what the judge says of it, on one line."""
    words = [f"- {criterion}"]
    if verdict.missing:
        words.append(f"Missing: {verdict.missing[:LONGEST_QUOTATION]}")
    if verdict.evidence:
        words.append(f"Evidence: {verdict.evidence[:LONGEST_QUOTATION]}")
    return " ".join(words)
