"""Generated replies: reading one never fails, and never finds an action that the reply does not contain."""

import json
import os
import re
from functools import cache

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage

from langgraph_reflexion.actors.base import TextActor
from langgraph_reflexion.actors.reply import without_reasoning
from langgraph_reflexion.envs.alfworld.environment import ALFWorld
from langgraph_reflexion.envs.base import prompts_of
from langgraph_reflexion.envs.grammar import parse_action
from langgraph_reflexion.loop.profiles import Rules
from langgraph_reflexion.models.client import Client
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.toys import Counter

REPLIES = int(os.environ.get("FUZZ_REPLIES", "200"))
ENVIRONMENTS = {"counter": Counter, "alfworld": ALFWorld}
RULES = Rules("mine", examples=0)
QUICK = settings(
    max_examples=max(1, REPLIES // 4), deadline=None, database=None, suppress_health_check=list(HealthCheck)
)


@cache
def acting(name):
    client, environment = Client(ScriptedChatModel(replies=[])), ENVIRONMENTS[name]()
    return TextActor(client, environment, prompts_of(environment), RULES)


NAMES = ["cabinet 1", "the Mug 2.", "up", "3", "\u202emug 1\u202c", "İ 1", "a\u00a0b", "{o}", "'x'", ""]
names = st.one_of(st.sampled_from(NAMES), st.text(max_size=6))
ACTIONS = [item for each in ENVIRONMENTS.values() for item in each.episode.actions().items()]
FORMS = sorted({form for _, spec in ACTIONS for form in spec.forms})
FORMS += ["gone to {x}", "add {x", "read[]]", "I would look", "LOOK", "loo\u212a", "think: {x}", "Think[{x}]"]
WRAPS = ["{}", "`{}`", "**{}**", '"{}"', "```\n{}\n```", "> {}", "\n{}", "\"'`{}`'\"", "**`{}", "```text\n{}", "“{}”"]
MARKS = ["Action:", "**Action:** ", "### Action 12 :", "action\uff1a", "> Action:\n", "Action", "Thought: ", "think:"]
MARKS += ["Observation:", "- observation 1:", "__Observation:__ ", "</think>", "<think>", "\u200bAction: ", "```\n"]
BREAKS = ["\n", "\n\n", "\r\n", "\r", " ", "", "\x85", "\u2028", "\x0b", "\x1c", "\x00"]


@st.composite
def actions(draw):
    said = re.sub(r"\{\w+\}", lambda _: draw(names), draw(st.sampled_from(FORMS)))
    spoken = draw(st.sampled_from([str, str, str.upper, str.title]))
    return draw(st.sampled_from(WRAPS)).replace("{}", spoken(said))


pieces = st.one_of(st.sampled_from(MARKS), actions(), st.text(max_size=20))
texts = st.lists(st.tuples(pieces, st.sampled_from(BREAKS)), min_size=1, max_size=12).map(
    lambda parts: "".join("".join(part) for part in parts)
)
blocks = st.one_of(texts, texts.map(lambda text: {"type": "text", "text": text}))
contents = st.one_of(texts, texts, st.lists(blocks, max_size=3))


def before_its_own_observations(reply):
    """The lines up to the first that opens an observation outside of blocks of code, whatever breaks the lines.

    Of a reply that begins with an observation: the lines after the next mark.
    """
    kept, lines = [], reply.splitlines(keepends=True)
    if re.match(r"[ \t>*_#`-]*observation[ \t\d*_`]*:", "".join(lines).lstrip(), re.IGNORECASE):
        marked = [bool(re.match(r"[ \t>*_#`-]*(?:action|thought|think)[ \t\d*_`]*:", each, re.I)) for each in lines]
        lines = lines[marked.index(True) :] if True in marked else []
    for line in lines:
        opens = re.match(r"[ \t>*_#`-]*observation[ \t\d*_`]*:", line, re.IGNORECASE)
        if opens and "".join(kept).count("```") % 2 == 0:
            break
        kept.append(line)
    return "".join(kept)


def expect_said(decision, reply, environment):
    """Thought and action stand in the reply, and the action is what its text says."""
    assert json.loads(json.dumps(decision)) == decision
    place = 0
    for word in decision["thought"].split():
        place = reply.find(word, place) + len(word)
        assert place >= len(word), f"{word!r} was not thought"
    if decision["action"] is None:
        return
    name, args, text = (decision["action"][key] for key in ("name", "args", "text"))
    said = before_its_own_observations(without_reasoning(reply))
    assert text in said or " ".join(text.split()) in " ".join(said.split())
    if name:
        assert parse_action(environment, text) == decision["action"]
        flat = " ".join(text.lower().split())
        assert all(" ".join(value.lower().split()) in flat for value in args.values())
    else:
        assert args == {}


@pytest.mark.slow
@pytest.mark.parametrize("name", ENVIRONMENTS)
@QUICK
@given(contents)
@example("hm\rObservation: x\rgo up")
@example("```\nObservation: x")
@example("hm\x85Observation: x\u2028go to desk 1")
def test_a_reply_in_text(name, content):
    actor, reply = acting(name), AIMessage(content)
    expect_said(actor.decide(reply), reply.text, actor.environment)
