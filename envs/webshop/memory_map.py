"""Memory map of a shop, from observations: queries with their results, and opened products with prices and options.

Everything lasts into later trials except the open product and the values chosen for it.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langgraph_reflexion.envs.base import MemoryMap, ObservedStep
from langgraph_reflexion.envs.webshop.pages import BEFORE, SUBPAGES

MAX_CHARACTERS = 120
"""Characters shown of a product's options and of each of its subpages."""
MAX_LASTING = 40
"""Number of queries, and of products, that last into the next trial: the latest ones."""

_TOTAL = re.compile(r"Page (?P<number>\d+) \(Total results: (?P<total>\d+)\)")


@dataclass
class ShopMap:
    """What observations have shown of a shop.

    Attributes:
        queries: Number of products found and of result pages seen, by query.
        products: The opened products by code.
        open: The code of the open product; empty on other pages.
        chosen: The values clicked since it was opened.
        query: The last query.
    """

    queries: dict[str, dict[str, int]] = field(default_factory=dict)
    products: dict[str, dict[str, Any]] = field(default_factory=dict)
    open: str = ""
    chosen: list[str] = field(default_factory=list)
    query: str = ""

    def see(self, name: str, argument: str, observation: str) -> None:
        """Update the map with an action's argument and observation."""
        lines = [line.strip() for line in observation.replace(" [SEP] ", "\n").splitlines() if line.strip()]
        priced = next((at for at, line in enumerate(lines) if line.startswith("Price: ")), 0)
        if total := _TOTAL.search(observation):
            self.query = argument if name == "search" else self.query
            pages = self.queries.pop(self.query, {"pages": 0})["pages"]
            self.queries[self.query] = {"found": int(total["total"]), "pages": max(pages, int(total["number"]))}
            self.open = ""
        elif priced:
            if not self.open:
                self.open, self.chosen = argument.upper(), []
            begin = next((at for at, line in enumerate(lines) if line.strip("[]") == BEFORE), -1) + 1
            about = {"title": lines[priced - 1], "price": lines[priced].removeprefix("Price: ")}
            read = self.products.pop(self.open, {"read": {}})["read"]
            self.products[self.open] = {**about, "options": lines[begin : priced - 1], "read": read}
        if not self.open:
            return
        product = self.products[self.open]
        if argument in SUBPAGES and lines and not priced:
            product["read"] = product["read"] | {argument: _short(lines[-1].removeprefix("[< Prev]"))}
        elif _offers(product["options"], argument):
            self.chosen = [*(value for value in self.chosen if value != argument), argument]

    def render(self) -> Iterable[str]:
        if self.open:
            yield f"Open now: {', clicked: '.join(filter(None, (self.open, ', '.join(self.chosen))))}."
        for query, what in reversed(self.queries.items()):
            pages = f", {what['pages']} pages of them seen" if what["pages"] > 1 else ""
            yield f'Searched for "{query}": {what["found"]} found{pages}.'
        for code, product in reversed(self.products.items()):
            options = _short("; ".join(product["options"])) or "nothing to choose"
            read = "".join(f" {page}: {text}" for page, text in product["read"].items())
            yield f"{code}, {product['title']}, {product['price']}: {options}.{read}"


def build_map(steps: Sequence[ObservedStep], known: Mapping[str, Any]) -> MemoryMap:
    """Return the map of a trial; see `Environment.memory_map`."""
    products = {code: {**product} for code, product in known.get("products", {}).items()}
    shop = ShopMap(dict(known.get("queries", {})), products)
    for step in steps:
        action = step["action"]
        if action is not None and action["name"] and not step["observation"].startswith("Invalid action"):
            argument = " ".join(str(next(iter(action["args"].values()), "")).split())
            shop.see(action["name"], argument, step["observation"])
    queries, products = (dict([*each.items()][-MAX_LASTING:]) for each in (shop.queries, shop.products))
    return MemoryMap(tuple(shop.render()), {"queries": queries, "products": products})


def _offers(options: Sequence[str], value: str) -> bool:
    """Return whether an option has a value: in brackets after the option's name, or on a line of its own."""
    offered = [each for line in options for each in (re.findall(r"\[\[?([^\[\]]*)\]", line) or [line])]
    return value.lower() in (each.lower() for each in offered)


def _short(text: str) -> str:
    return text if len(text) <= MAX_CHARACTERS else f"{text[:MAX_CHARACTERS].rsplit(' ', 1)[0]} ..."
