"""What a shop has shown: what was searched for, which products were opened, their prices and options.

Why a product will not do is for the model to say. All of it holds in the next trial as well, but for what is open and
what is chosen of it.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langgraph_reflexion.envs.base import MemoryMap, Seen
from langgraph_reflexion.envs.webshop.pages import BEFORE, SUBPAGES

TOLD = 120
"""How many characters of a product's options, and of each of its pages, are told."""
KEPT = 40
"""How many searches, and how many products, are known of in the next trial: the latest."""

_TOTAL = re.compile(r"Page (?P<number>\d+) \(Total results: (?P<total>\d+)\)")


@dataclass
class Aisles:
    """A shop as far as it was seen.

    Attributes:
        queries: What was searched for: how many products were found, and how many pages of them were seen.
        products: What was opened, by its code.
        open: The code of what is open; empty on other pages.
        chosen: The values that were clicked since it was opened.
        query: What was searched for last.
    """

    queries: dict[str, dict[str, int]] = field(default_factory=dict)
    products: dict[str, dict[str, Any]] = field(default_factory=dict)
    open: str = ""
    chosen: list[str] = field(default_factory=list)
    query: str = ""

    def see(self, name: str, said: str, observation: str) -> None:
        """Take in what an action has led to."""
        lines = [line.strip() for line in observation.replace(" [SEP] ", "\n").splitlines() if line.strip()]
        priced = next((at for at, line in enumerate(lines) if line.startswith("Price: ")), 0)
        if total := _TOTAL.search(observation):
            self.query = said if name == "search" else self.query
            pages = self.queries.pop(self.query, {"pages": 0})["pages"]
            self.queries[self.query] = {"found": int(total["total"]), "pages": max(pages, int(total["number"]))}
            self.open = ""
        elif priced:
            if not self.open:
                self.open, self.chosen = said.upper(), []
            begin = next((at for at, line in enumerate(lines) if line.strip("[]") == BEFORE), -1) + 1
            about = {"title": lines[priced - 1], "price": lines[priced].removeprefix("Price: ")}
            read = self.products.pop(self.open, {"read": {}})["read"]
            self.products[self.open] = {**about, "options": lines[begin : priced - 1], "read": read}
        if not self.open:
            return
        product = self.products[self.open]
        if said in SUBPAGES and lines and not priced:
            product["read"] = product["read"] | {said: _short(lines[-1].removeprefix("[< Prev]"))}
        elif _offers(product["options"], said):
            self.chosen = [*(value for value in self.chosen if value != said), said]

    def told(self) -> Iterable[str]:
        """All of it in words."""
        if self.open:
            yield f"Open now: {', clicked: '.join(filter(None, (self.open, ', '.join(self.chosen))))}."
        for query, what in reversed(self.queries.items()):
            pages = f", {what['pages']} pages of them seen" if what["pages"] > 1 else ""
            yield f'Searched for "{query}": {what["found"]} found{pages}.'
        for code, product in reversed(self.products.items()):
            options = _short("; ".join(product["options"])) or "nothing to choose"
            read = "".join(f" {page}: {text}" for page, text in product["read"].items())
            yield f"{code}, {product['title']}, {product['price']}: {options}.{read}"


def draw(steps: Sequence[Seen], known: Mapping[str, Any]) -> MemoryMap:
    """The map of a trial; see `Environment.memory_map`."""
    products = {code: {**product} for code, product in known.get("products", {}).items()}
    shop = Aisles(dict(known.get("queries", {})), products)
    for step in steps:
        action = step["action"]
        if action is not None and action["name"] and not step["observation"].startswith("Invalid action"):
            said = " ".join(str(next(iter(action["args"].values()), "")).split())
            shop.see(action["name"], said, step["observation"])
    queries, products = (dict([*each.items()][-KEPT:]) for each in (shop.queries, shop.products))
    return MemoryMap(tuple(shop.told()), {"queries": queries, "products": products})


def _offers(options: Sequence[str], said: str) -> bool:
    """Whether this is the value of an option: in brackets after the option's name, or a piece by itself."""
    values = [value for line in options for value in (re.findall(r"\[\[?([^\[\]]*)\]", line) or [line])]
    return said.lower() in (value.lower() for value in values)


def _short(text: str) -> str:
    return text if len(text) <= TOLD else f"{text[:TOLD].rsplit(' ', 1)[0]} ..."
