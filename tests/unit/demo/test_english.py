"""The article before a thing, in what the demo model says first about a household task."""

import json

import pytest
from langchain_core.messages import HumanMessage, SystemMessage

from langgraph_reflexion.envs.base import ShownAction
from langgraph_reflexion.lab.demo import DemoChatModel
from langgraph_reflexion.prompts import load_prompts

ROOM = (
    "You are in the middle of a room. Looking quickly around you, you see a cabinet 1, and a sofa 1.\n\n"
    "Your task is to: put {thing} on the sofa."
)


@pytest.mark.parametrize("thing", ["an egg", "an apple", "an ottoman", "a mug", "a teddybear"])
def test_a_thing_that_was_not_seen_has_its_article(thing):
    assert f"I have not seen {thing} yet." in _said(ROOM.format(thing=thing))


@pytest.mark.parametrize("thing", ["an egg", "a mug"])
def test_a_thing_of_a_note_has_its_article(thing):
    noun = thing.split()[1]
    prompts = load_prompts("alfworld")
    note = json.dumps(f"In the room with 1 cabinet, 1 sofa I saw: cabinet 1 has {noun}.")
    recalled = prompts.render("recalled", lessons=[{"text": note}])
    assert f"there was {thing} at cabinet 1" in _said(f"{recalled}\n\n{ROOM.format(thing=thing)}")


def _said(opening):
    actions = [ShownAction("go to {receptacle}", "")]
    system = load_prompts("alfworld").render("act", in_text=True, actions=actions, examples=[], solved=0)
    return DemoChatModel(seed=0).invoke([SystemMessage(system), HumanMessage(opening)]).text
