"""Generated replies: reading one never fails, and never finds an action that the reply does not contain.

The long form, with 100,000 replies:

    FUZZ_REPLIES=100000 pytest tests/unit/actors/test_reply_fuzz.py
"""

import json
import os
import re
from dataclasses import replace
from functools import cache

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage

from langgraph_reflexion.actors.base import TextActor
from langgraph_reflexion.actors.reply import LONGEST, call_text, read_reply
from langgraph_reflexion.actors.tools import ToolActor
from langgraph_reflexion.envs.alfworld.environment import ALFWorld
from langgraph_reflexion.models.client import Client
from langgraph_reflexion.profiles import PROFILES
from langgraph_reflexion.prompts import load_prompts
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.toys import Counter

REPLIES = int(os.environ.get("FUZZ_REPLIES", "200"))
ENVIRONMENTS = {"counter": Counter, "alfworld": ALFWorld}


def replies(share):
    """Settings for a share of all replies, for each of the environments."""
    return settings(
        max_examples=max(1, int(REPLIES * share) // len(ENVIRONMENTS)),
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )


RULES = replace(PROFILES["paper"], examples=0)


@cache
def acting(kind, name):
    client, environment = Client(ScriptedChatModel(replies=[])), ENVIRONMENTS[name]()
    return kind(client, environment, load_prompts(environment.name), RULES)


# What replies are made of.

NAMES = [
    "cabinet 1", "the Mug 2.", "countertop 12", "up", "3", "\u202emug 1\u202c", "İ 1", "a\u00a0b", "{o}", "'x'",
    "",
]  # fmt: skip
names = st.one_of(st.sampled_from(NAMES), st.text(max_size=6))
ACTIONS = [item for each in ENVIRONMENTS.values() for item in each.episode.actions().items()]
FORMS = sorted({form for _, spec in ACTIONS for form in spec.forms})
NEARLY = ["gone to {x}", "go  to", "add", "add {x", "read[", "read[]]", "read [x]", "take {x} form {x}", "put {x}"]
NEARLY += [
    "I would look", "look.", "LOOK", "loo\u212a", "think: {x}", "Think[{x}]", "finish[{x}]", "no action",
    "None",
]  # fmt: skip


@st.composite
def actions(draw):
    form = draw(st.one_of(*[st.sampled_from(FORMS)] * 3, st.sampled_from(NEARLY)))
    said = re.sub(r"\{\w+\}", lambda _: draw(names), form)
    spoken = draw(st.sampled_from([str, str, str, str.upper, str.title]))
    return (
        draw(st.sampled_from(["", "", "", " ", "\t"]))
        + spoken(said)
        + draw(st.sampled_from(["", "", ".", "!", "  "]))
    )


WRAPS = [
    "{}", "{}", "{}", "`{}`", "**{}**", "*{}*", '"{}"', "'{}'", "```{}```", "```\n{}\n```", "> {}", "\n{}",
    "\n\n {}",
]  # fmt: skip
WRAPS += [
    "\"'`{}`'\"", "**`{}", "{}**", "<action>{}</action>", '{"action": "{}"}', "[{}]", "```text\n{}", "1. {}",
    "“{}”",
]  # fmt: skip
FRAMES = [
    "{}", "{}", "**{}**", "**{}", "### {}", "- {}", "> {}", "__{}__", " \t{}", "`{}`", "* {}", "\u200b{}",
    "\u202e{}",
]  # fmt: skip
NUMBERS = ["", "", "", " 1", " 12 ", "s", " \u0663"]
COLONS = [":", ": ", ":", " :", ":** ", "::", "\uff1a", " -", "", ":\n"]
prose = st.one_of(
    st.text(max_size=20),
    st.sampled_from(
        ["Sure!", "I will go to cabinet 1 now", "Let me think.", "The observation: a mug", "Action", "..."]
    ),
    actions(),
)


@st.composite
def marked(draw, mark, said):
    mark = draw(st.sampled_from([str, str, str.lower, str.upper]))(mark)
    opening = draw(st.sampled_from(FRAMES)).replace("{}", mark + draw(st.sampled_from(NUMBERS)))
    return opening + draw(st.sampled_from(COLONS)) + draw(said)


wrapped = st.builds(lambda wrap, said: wrap.replace("{}", said), st.sampled_from(WRAPS), actions())
runs = st.builds(
    lambda what, often: what * often,
    st.sampled_from(
        ["\n", " ", "> ", "*", "`", "Action: ", "Thought: ", "go up\n", "think[", "x", "\u2028", "```\n", '"']
    ),
    st.sampled_from([3, 40, 700, 5000]),
)
segments = st.one_of(
    actions(),
    st.builds("Action: {}".format, actions()),
    st.builds("\nThought: hm\nAction: {}\n".format, actions()),
    wrapped,
    marked("Action", wrapped),
    marked("Action", wrapped),
    marked("Thought", prose),
    marked("Think", prose),
    marked("Observation", st.one_of(prose, wrapped)),
    prose,
    st.builds("<think>{}</think>".format, st.one_of(prose, wrapped)),
    st.builds("<{0}>{1}".format, st.sampled_from(["think", "/think", "tool_call", "|im_end|"]), prose),
    st.builds(lambda said: json.dumps({"thought": said, "action": {"name": said, "args": [said]}}), actions()),
    st.text(),
)
BREAKS = [
    "\n", "\n", "\n", "\n\n", "\r\n", "\r", " ", "", "\x85", "\u2028", "\u2029", "\x0b", "\x0c", "\x1c", "\x1f",
    "\x00",
]  # fmt: skip


@st.composite
def texts(draw):
    parts = draw(st.lists(segments, min_size=1, max_size=6))
    if draw(st.integers(0, 30)) == 0:
        parts.insert(draw(st.integers(0, len(parts))), draw(runs))
    return "".join(part + draw(st.sampled_from(BREAKS)) for part in parts)


blocks = st.one_of(
    texts(),
    st.builds(lambda text: {"type": "text", "text": text}, texts()),
    st.builds(lambda text: {"type": "reasoning", "reasoning": text}, texts()),
    st.builds(lambda text: {"type": "thinking", "thinking": text, "signature": ""}, texts()),
    st.sampled_from([{"type": "image_url", "image_url": {"url": "x"}}, {"type": "refusal", "refusal": "go up"}, {}]),
)
contents = st.one_of(texts(), texts(), texts(), st.lists(blocks, max_size=3))
plain = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), names),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(names, inner, max_size=3)),
    max_leaves=5,
)
TOOLS = sorted({name for name, _ in ACTIONS})
FIELDS = sorted({field for _, spec in ACTIONS for field in spec.schema.model_fields})
arguments = st.dictionaries(st.one_of(st.sampled_from(FIELDS), names), st.one_of(names, plain), max_size=4)
ids = st.one_of(st.none(), st.just("call_1"), st.text(max_size=3))
tools = st.one_of(
    st.sampled_from(TOOLS), st.sampled_from(["", "no_such_tool", "functions.look", "GO_TO"]), st.text(max_size=5)
)
calls = st.builds(
    lambda name, args, id: {"name": name, "args": args, "id": id, "type": "tool_call"}, tools, arguments, ids
)
broken = st.builds(
    lambda name, args, id: {"name": name, "args": args, "id": id, "error": None, "type": "invalid_tool_call"},
    st.one_of(st.none(), tools),
    st.one_of(st.none(), st.just('{"object": "mug'), texts()),
    ids,
)


# What must hold.


def flat(text):
    """The text as it compares where blanks and capitals do not count."""
    return " ".join(text.lower().split())


def before_its_own_observations(reply):
    """The lines up to the first that opens an observation outside of blocks of code, whatever breaks the lines."""
    kept = []
    for line in reply.splitlines(keepends=True):
        opens = re.match(r"[ \t>*_#`-]*observation[ \t\d*_`]*:", line, re.IGNORECASE)
        if opens and "".join(kept).count("```") % 2 == 0:
            break
        kept.append(line)
    return "".join(kept)


def expect_plain(decision):
    assert json.loads(json.dumps(decision)) == decision
    assert set(decision) == {"thought", "action"}
    assert decision["action"] is None or set(decision["action"]) == {"name", "args", "text"}


def expect_said(decision, reply, environment):
    """Thought and action stand in the reply, and the action is what its text says."""
    expect_plain(decision)
    place = 0
    for word in decision["thought"].split():
        place = reply.find(word, place) + len(word)
        assert place >= len(word), f"{word!r} was not thought"
    if decision["action"] is None:
        return
    name, args, text = (decision["action"][key] for key in ("name", "args", "text"))
    said = before_its_own_observations(reply.rpartition("</think>")[2])
    assert text in said or " ".join(text.split()) in " ".join(said.split())
    if name:
        assert name in environment.episode.actions()
        assert environment.parse(text) == decision["action"]
        assert all(flat(value) in flat(text) for value in args.values())
    else:
        assert args == {}


@pytest.mark.parametrize("name", ENVIRONMENTS)
@replies(0.7)
@given(contents)
@example("hm\rObservation: x\rgo up")
@example("```\nObservation: x")
@example("hm\x85Observation: x\u2028go to desk 1")
def test_a_reply_in_text(name, content):
    actor, reply = acting(TextActor, name), AIMessage(content)
    decision = actor.decide(reply)
    assert decision == read_reply(reply.text, actor.environment.parse)
    expect_said(decision, reply.text, actor.environment)


@pytest.mark.parametrize("name", ENVIRONMENTS)
@replies(0.3)
@given(contents, st.lists(calls, max_size=2), st.lists(broken, max_size=2))
def test_a_reply_with_calls(name, content, called, invalid):
    actor, reply = acting(ToolActor, name), AIMessage(content, tool_calls=called, invalid_tool_calls=invalid)
    decision = actor.decide(reply)
    if not called and not invalid:
        expect_said(decision, reply.text, actor.environment)
        return
    expect_plain(decision)
    action = decision["action"]
    assert decision["thought"].split() == reply.text.split() or len(reply.text) > LONGEST
    first = (called or invalid)[0]
    if called and first["name"] in actor.environment.episode.actions():
        assert (action["name"], action["args"]) == (first["name"], first["args"])
    else:
        assert (action["name"], action["args"]) == ("", {})
    if called and not action["name"]:
        assert action["text"] == call_text(first["name"], first["args"])
    if not called:
        assert action["text"] == f"{first['name'] or ''}({first['args'] or ''})"
