"""The demo model in a shop (WebShop).

It knows no product: what there is it reads on the pages, and what is wanted in the instruction. Its mistakes have
reasons (`buying`), and it learns between trials from what it wrote down (`regret`), which the prompt shows or does
not show.
"""

import re
from random import Random

from langchain_core.messages import AIMessage

from langgraph_reflexion.demo.buying import SLIPS, Buyer, Notes
from langgraph_reflexion.demo.errand import Errand, read_errand
from langgraph_reflexion.demo.habits import slips_at
from langgraph_reflexion.demo.reading import sentences_of
from langgraph_reflexion.demo.regret import look_back
from langgraph_reflexion.demo.replying import reply
from langgraph_reflexion.demo.shop import in_brackets, read_shop
from langgraph_reflexion.demo.transcript import Prompt

VAGUE = 0.2
"""How often a reflection holds nothing of use."""


def recognises(prompt: Prompt) -> bool:
    """Whether a prompt is about a shop."""
    return re.search(r"^Instruction:", in_brackets(prompt.opening), re.MULTILINE) is not None


def answer(prompt: Prompt, *, seed: int, in_text: bool) -> AIMessage:
    """Answer a prompt about a shop."""
    errand, rng = read_errand(in_brackets(prompt.opening)), Random(seed)
    if prompt.role == "reflect":
        return AIMessage(_reflect(prompt, errand, rng))
    if prompt.role == "judge":
        return AIMessage(_judge(prompt, errand))
    slips = slips_at(errand.text, SLIPS, rng)
    act = Buyer(errand, read_shop(prompt), slips, Notes.on(errand, prompt.lessons)).next()
    args = {{"search": "query", "click": "element"}[act.name]: act.text}
    return reply(prompt, act.thought, f"{act.name}[{act.text}]", act.name, args, in_text=in_text)


def _reflect(prompt: Prompt, errand: Errand, rng: Random) -> str:
    if rng.random() < VAGUE:
        return "I did not get what was wanted. Next time I will shop more carefully and compare what there is."
    earlier = Notes.on(errand, prompt.lessons)
    said = look_back(errand, read_shop(prompt), earlier)
    # What earlier notes say stays true.
    return " ".join(dict.fromkeys([*sentences_of(said), *earlier.sentences]))


def _judge(prompt: Prompt, errand: Errand) -> str:
    shop = read_shop(prompt)
    bought = shop.offers.get(shop.bought)
    if bought is None:
        return "Nothing was bought.\nVerdict: no"
    faults = [
        *(f"{value} was not chosen" for value in bought.unchosen(errand)),
        *(f"it does not come in {missing}" for missing in bought.missing_options(errand)),
        *(f"nothing says that it is {attribute}" for attribute in bought.unproved(errand)),
        *(["it costs too much"] if bought.price > errand.limit else []),
    ]
    if faults:
        return f"{bought.code} was bought, but {' and '.join(faults)}.\nVerdict: no"
    return f"{bought.code} is what was wanted, as far as the pages say.\nVerdict: yes"
