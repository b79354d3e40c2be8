"""The shop as the demo model reads it: the instruction, and the pages that it was shown."""

import re
from dataclasses import dataclass, field

from langgraph_reflexion.lab.demo.prompt import Prompt, Turn

_LIMIT = re.compile(r",? and price lower than (?P<limit>[\d.]+) dollars\.?\s*$")
_THING = re.compile(r"\b(?:an?|some) (?P<thing>[^,;.]+?)(?= that\b| which\b| with\b| in\b|[,;.]|$)")
_ATTRIBUTES = re.compile(r"\b(?:is|are|be) (?P<attributes>[^,;.]+)")
_OPTIONS = re.compile(r"(?:, (?:in|with|and come in)|\. (?:i would like|choose)) (?P<options>[^,;.]+)\.?$")


@dataclass(frozen=True)
class Errand:
    """What to buy."""

    text: str
    thing: str
    attributes: tuple[str, ...] = ()
    options: dict[str, str] = field(default_factory=dict)
    limit: float = float("inf")

    @property
    def queries(self) -> list[str]:
        attributes, values = " ".join(self.attributes), " ".join(self.options.values())
        attempts = [(attributes, values), (attributes,), (values,), ()]
        return list(dict.fromkeys(" ".join([self.thing, *filter(None, more)]) for more in attempts))


def read_errand(opening: str) -> Errand:
    """Read the instruction on the opening page."""
    text = re.sub(r"\s*\[Search\]\s*$", "", opening.rpartition("Instruction:")[2]).strip()
    bounded = _LIMIT.search(text)
    words = text[: bounded.start()].strip() if bounded else text
    thing = _THING.search(words)
    options = _OPTIONS.search(words)
    about = words[thing.end() if thing else 0 : options.start() if options else None]
    attributes = _ATTRIBUTES.search(about)
    pairs = [each.strip().partition(" ") for each in options["options"].split(" and ")] if options else []
    return Errand(
        text=text,
        thing=thing["thing"].strip() if thing else words,
        attributes=tuple(attributes["attributes"].split(" and ")) if attributes else (),
        options={name: value.strip() for name, _, value in pairs},
        limit=float(bounded["limit"]) if bounded else float("inf"),
    )


PAGES = ("Description", "Features")
"""The pages that describe a product."""

_CALL = re.compile(r"(?P<name>search|click)(?:\[(?P<text>.*)\]|\s(?P<plain>.*))", re.DOTALL)
_SHOWN = re.compile(r"^\[(?P<code>\w{6,})\] ?\n(?P<title>[^\n]+?) ?\n\$(?P<price>[\d.,]+)", re.MULTILINE)
_ROW = re.compile(r"^[^\[\]\n]+? (?P<values>(?:\[\[?[^\[\]\n]*\]?\])+) ?$", re.MULTILINE)
_PRICE = re.compile(r"^Price: \$(?P<price>[\d.,]+)", re.MULTILINE)


@dataclass
class Offer:
    """A product."""

    code: str
    title: str
    price: float
    values: list[str] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)
    chosen: list[str] = field(default_factory=list)

    def says(self, attribute: str) -> bool:
        return any(attribute in text.lower() for text in (self.title, *self.texts.values()))

    def unread(self) -> list[str]:
        return [page for page in PAGES if page not in self.texts]

    def missing_options(self, errand: Errand) -> list[str]:
        return [f"{name} {value}" for name, value in errand.options.items() if value not in self.values]

    def unchosen(self, errand: Errand) -> list[str]:
        return [value for value in errand.options.values() if value in self.values and value not in self.chosen]

    def unproved(self, errand: Errand) -> list[str]:
        return [attribute for attribute in errand.attributes if not self.says(attribute)]


@dataclass
class Shop:
    """What was seen of the shop."""

    page: str = "search"
    offers: dict[str, Offer] = field(default_factory=dict)
    shown: list[str] = field(default_factory=list)
    opened: list[str] = field(default_factory=list)
    queries: list[str] = field(default_factory=list)
    bought: str = ""

    @property
    def open(self) -> Offer | None:
        return self.offers.get(self.opened[-1]) if self.opened else None


def read_shop(prompt: Prompt) -> Shop:
    """Read the transcript."""
    shop = Shop()
    for turn in prompt.turns:
        _read_turn(shop, turn)
    return shop


def _read_turn(shop: Shop, turn: Turn) -> None:
    call = _CALL.fullmatch(turn.action.strip())
    if not call or turn.observation.startswith("Invalid action"):
        return
    said, seen = (call["text"] or call["plain"] or "").strip(), turn.observation
    if call["name"] == "search":
        shop.queries.append(said)
    elif said == "Buy Now" and shop.open:
        shop.bought = shop.open.code
        return
    if "[Search]" in seen:
        shop.page = "search"
    elif re.search(r"^Page \d+ \(Total results", seen, re.MULTILINE):
        _read_results(shop, seen)
    elif seen.startswith("You have clicked") and shop.open:
        shop.open.chosen.append(said)
    elif "[Buy Now]" in seen:
        _read_item(shop, said, seen)
    elif "[< Prev]" in seen and shop.open:
        shop.page = "sub"
        shop.open.texts[said] = seen.rpartition("[< Prev]")[2].strip()


def _read_results(shop: Shop, seen: str) -> None:
    shop.page, shop.shown = "results", []
    for match in _SHOWN.finditer(seen):
        shop.shown.append(match["code"])
        shop.offers.setdefault(match["code"], Offer(match["code"], match["title"], _number(match["price"])))


def _read_item(shop: Shop, said: str, seen: str) -> None:
    shop.page = "item"
    if said in shop.offers:
        shop.opened.append(said)
        shop.offers[said].chosen = []
    offer = shop.open
    if offer is None:
        return
    offer.values = [value for row in _ROW.finditer(seen) for value in re.findall(r"\[\[?([^\[\]]*)\]", row["values"])]
    if said in offer.values:
        offer.chosen.append(said)
    if price := _PRICE.search(seen):
        offer.price = _number(price["price"])


def _number(text: str) -> float:
    return float(text.replace(",", "").rstrip("."))
