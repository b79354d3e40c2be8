import re

import pytest

from langgraph_reflexion import load_environment
from langgraph_reflexion.envs.base import Action


def take(environment, written):
    """The steps of an episode; `{0}` stands for the code of the first product on the last page of results."""
    task = environment.tasks(limit=1)[0]
    episode, steps, codes = environment.start(task), [], []
    for text in written:
        text = text.format(*codes)
        action = environment.parse(text) or Action(name="", args={}, text=text)
        seen = episode.step(action).observation
        steps.append({"action": action, "observation": seen})
        codes = (re.findall(r"\b(W[A-Z0-9]{9})\b", seen) if "Total results" in seen else []) or codes
    return task, episode.observation, steps, codes


@pytest.mark.parametrize("rendering", ["bracketed", "text"])
def test_searches_products_prices_and_options(rendering):
    environment = load_environment("webshop", rendering=rendering)
    shopping = ["search[red shirt]", "click[Next >]", "click[Back to Search]", "search[shirt]", "click[{1}]"]
    shopping += ["click[coal black]", "click[Description]", "click[< Prev]", "click[fly]", "click[coal black]"]
    task, opening, steps, codes = take(environment, shopping)
    now, shirt, red, product = environment.memory_map(task, opening, steps, {}).lines
    price = re.search(r"Price: (\$[\d.]+)", str(steps))[1]
    described = next(s["observation"] for s in steps if s["action"]["text"] == "click[Description]")
    assert now == f"Open now: {codes[1]}, clicked: coal black."
    assert re.fullmatch(r'Searched for "shirt": \d+ found\.', shirt)
    assert re.fullmatch(r'Searched for "red shirt": \d+ found, 2 pages of them seen\.', red)
    assert re.match(rf"{codes[1]}, .*, {re.escape(price)}: .*coal black", product)
    assert product.rpartition("Description: ")[2].removesuffix(" ...") in described
    environment.close()


def test_all_but_the_open_product_lasts_and_nothing_is_told_twice():
    environment = load_environment("webshop")
    shopping = ["search[shirt]", "click[{0}]", "click[< Prev]", "click[{1}]", "click[< Prev]", "click[{0}]"]
    task, opening, steps, codes = take(environment, shopping)
    first = environment.memory_map(task, opening, steps, {})
    assert [line[:10] for line in first.lines[2:]] == [codes[0], codes[1]], "the latest first"
    assert environment.memory_map(task, opening, steps, first.known) == first
    assert environment.memory_map(task, opening, [], first.known).lines == first.lines[1:]
    assert environment.memory_map(task, opening, [], {}).text == ""
    environment.close()
