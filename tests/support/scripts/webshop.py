"""A model that first buys the first product that it is shown, and after a reflection what was asked for."""

import re
from functools import cache

from langgraph_reflexion.envs.webshop.catalogue import generate
from tests.support import webshop

LESSON = "I bought the first thing that I saw. Next time I will look for all that the instruction asks for."
_INSTRUCTION = re.compile(r"Instruction:\s*\n(?P<text>.+?)\s*\n\[Search\]", re.DOTALL)
_PRODUCT = re.compile(r"^\[(?P<code>W\w{9})\]", re.MULTILINE)


@cache
def right_ways(seed=0):
    """Return the actions that satisfy each goal of the generated catalogue, by its instruction."""
    catalogue = generate(seed)
    return {goal.instruction: webshop.solution(catalogue, goal) for goal in catalogue.goals}


def reply(messages):
    """Write a reflection, or the next action."""
    if messages[1].text.rstrip().endswith("Reflection:"):
        return LESSON
    instruction = _INSTRUCTION.search(messages[1].text)["text"].strip()
    done = len(messages) // 2 - 1
    if LESSON in messages[1].text:
        return f"Thought: I go by the instruction.\nAction: {right_ways()[instruction][done]}"
    return f"Thought: That will do.\nAction: {_hasty(instruction, messages[-1].text, done)}"


def _hasty(instruction, page, done):
    if done == 0:
        return f"search[{instruction[:40]}]"
    if found := _PRODUCT.search(page):
        return f"click[{found['code']}]"
    return "click[Buy Now]"
