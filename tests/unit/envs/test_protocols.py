import re
from pathlib import Path

import pytest
from typing_extensions import get_protocol_members, is_protocol

from langgraph_reflexion.envs import protocols
from langgraph_reflexion.envs.alfworld.environment import ALFWorld
from langgraph_reflexion.envs.base import Environment, Episode, Review, action
from langgraph_reflexion.envs.grammar import equivalent, parse_action
from langgraph_reflexion.envs.hotpotqa.environment import HotPotQA
from langgraph_reflexion.envs.pool import EpisodePool
from langgraph_reflexion.envs.programming.environment import Programming
from langgraph_reflexion.envs.protocols import (
    REPLY_TOKENS,
    HasOwnTasksOnly,
    actors_of,
    blocks,
    for_actor,
    for_task,
    is_replayable,
    prepare,
    reply_tokens,
    review,
)
from langgraph_reflexion.envs.workspace.environment import Workspace
from tests.support.toys import finished

PAGE = Path(__file__).parents[3] / "docs" / "howto" / "own-environment.md"
TASK = {"id": "1", "instruction": "Greet."}


class Greeting(Episode):
    observation = "Somebody looks at you."

    @action("say {word}")
    def say(self, word: str) -> str:
        """Say a word."""
        return f"You say {word}."


class Plain(Environment):
    """An environment with nothing but what each needs."""

    name = "plain"
    splits = ("all",)
    episode = Greeting

    def tasks(self, split=None, limit=None):
        self.choose_split(split)
        return [TASK][:limit]

    def start(self, task):
        return Greeting()


class Rich(Plain):
    """An environment with methods and attributes that no base class has."""

    replayable = False
    blocking = True
    reply_tokens = 64
    actors = ("shy",)

    def prepare(self, task):
        return {"by": self.name}

    def blocks(self, task):
        return task["id"] == "slow"

    def for_task(self, task):
        return Rich()

    def for_actor(self, name):
        return Plain()

    def review(self, task, trial):
        return Review(measures={"actions": len(trial["actions"])})

    def parse(self, text):
        return {"name": "say", "args": {"word": text.strip().lower()}, "text": text}

    def equivalent(self, one, other):
        return one["args"]["word"].lower() == other["args"]["word"].lower()


def test_an_environment_has_at_most_ten_members():
    members = {name for name in [*vars(Environment), *Environment.__annotations__] if not name.startswith("_")}
    assert len(members) <= 10, sorted(members)


def test_without_a_feature_its_default_holds():
    plain = Plain()
    assert prepare(plain, TASK) == {}
    assert is_replayable(plain)
    assert blocks(plain, TASK)
    assert for_task(plain, TASK) is plain
    assert actors_of(plain) == ()
    assert for_actor(plain, "react") is plain
    assert review(plain, TASK, finished()) == Review()
    assert reply_tokens(plain) == REPLY_TOKENS


def test_whoever_writes_a_method_has_the_feature():
    rich = Rich()
    assert prepare(rich, TASK) == {"by": "plain"}
    assert not is_replayable(rich)
    assert isinstance(for_task(rich, TASK), Rich)
    assert actors_of(Rich) == actors_of(rich) == ("shy",)
    assert type(for_actor(rich, "shy")) is Plain
    assert for_actor(rich, "react") is rich
    assert review(rich, TASK, finished()).measures == {"actions": 0}
    assert reply_tokens(rich) == 64


def test_an_environment_reads_and_compares_actions_in_its_own_way():
    plain, rich = Plain(), Rich()
    assert parse_action(plain, "Hello") is None
    assert parse_action(rich, "Hello")["args"] == {"word": "hello"}
    [one, other] = [parse_action(plain, text) for text in ("say Hello", "say hello")]
    assert equivalent(rich, one, other)
    assert not equivalent(plain, one, other)


def test_what_it_says_of_a_task_counts_more_than_what_it_says_of_all():
    assert [blocks(Rich(), {**TASK, "id": name}) for name in ("slow", "fast")] == [True, False]
    assert not blocks(HotPotQA(), TASK)


async def test_a_snapshot_needs_an_environment_that_restores_it():
    with pytest.raises(NotImplementedError, match="plain are rebuilt by replaying"):
        await EpisodePool(Plain()).step(TASK, [], parse_action(Plain(), "say hello"), {"at": 1})


def test_environments_whose_tasks_name_folders_can_refuse_foreign_tasks():
    assert isinstance(Workspace(), HasOwnTasksOnly)
    assert not isinstance(ALFWorld(), HasOwnTasksOnly)


def test_the_actors_of_an_actors_environment_are_none():
    assert actors_of(Programming) == ("code",)
    assert actors_of(for_actor(HotPotQA(), "cot")) == ()


class Delegating(Plain):
    """An environment that has some attributes of another one."""

    def __init__(self, other):
        self.other = other

    def __getattr__(self, name):
        return getattr(self.other, name)


class Computed(Plain):
    """An environment with a property that has a bug."""

    @property
    def replayable(self):
        return self.no_such_setting


def test_what_only_getattr_finds_is_no_feature():
    delegating = Delegating(Rich())
    assert delegating.reply_tokens == 64
    assert reply_tokens(delegating) == REPLY_TOKENS
    assert parse_action(delegating, "Hello") is None


def test_an_error_of_a_property_is_not_hidden():
    with pytest.raises(AttributeError, match="no_such_setting"):
        is_replayable(Computed())


def test_the_page_lists_every_optional_method_and_attribute():
    _, _, after = PAGE.read_text(encoding="utf-8").partition("| method or attribute | feature |\n")
    table, _, _ = after.partition("\n\n")
    listed = set()
    for row in table.splitlines()[1:]:
        names = row.split("|")[1]
        listed.update(re.findall(r"`(\w+)", names))
    members = set()
    for found in vars(protocols).values():
        if isinstance(found, type) and is_protocol(found) and found.__module__ == protocols.__name__:
            members |= get_protocol_members(found)
    assert listed == members


@pytest.mark.parametrize("measure", [float("nan"), float("inf")])
def test_a_measure_is_a_finite_number(measure):
    with pytest.raises(ValueError, match=r"'f1' is (nan|inf), and a measure must be a finite number"):
        Review(measures={"f1": measure})
