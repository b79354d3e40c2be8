"""How the demo model reads what it is asked to buy, by the grammar of the sentence and no knowledge of things."""

import re
from dataclasses import dataclass, field

_LIMIT = re.compile(r",? and price lower than (?P<limit>[\d.]+) dollars\.?\s*$")
_THING = re.compile(r"\b(?:an?|some) (?P<thing>[^,;.]+?)(?= that\b| which\b| with\b| in\b|[,;.]|$)")
_ATTRIBUTES = re.compile(r"\b(?:is|are|be) (?P<attributes>[^,;.]+)")
_OPTIONS = re.compile(r"(?:, (?:in|with|and come in)|\. (?:i would like|choose)) (?P<options>[^,;.]+)\.?$")


@dataclass(frozen=True)
class Errand:
    """What is to be bought.

    Attributes:
        text: The instruction as it stands.
        thing: What kind of thing.
        attributes: What it has to be like.
        options: What is to be chosen of it, by the option's name.
        limit: What it may cost, in dollars.
    """

    text: str
    thing: str
    attributes: tuple[str, ...] = ()
    options: dict[str, str] = field(default_factory=dict)
    limit: float = float("inf")

    @property
    def queries(self) -> list[str]:
        """What to search for, the most telling query first."""
        attributes, values = " ".join(self.attributes), " ".join(self.options.values())
        told = [(attributes, values), (attributes,), (values,), ()]
        return list(dict.fromkeys(" ".join([self.thing, *filter(None, more)]) for more in told))


def read_errand(opening: str) -> Errand:
    """Read the instruction on the opening page."""
    text = re.sub(r"\s*\[Search\]\s*$", "", opening.rpartition("Instruction:")[2]).strip()
    bounded = _LIMIT.search(text)
    told = text[: bounded.start()].strip() if bounded else text
    thing = _THING.search(told)
    options = _OPTIONS.search(told)
    about = told[thing.end() if thing else 0 : options.start() if options else None]
    attributes = _ATTRIBUTES.search(about)
    return Errand(
        text=text,
        thing=thing["thing"].strip() if thing else told,
        attributes=tuple(attributes["attributes"].split(" and ")) if attributes else (),
        options=dict(_pair(each) for each in options["options"].split(" and ")) if options else {},
        limit=float(bounded["limit"]) if bounded else float("inf"),
    )


def _pair(text: str) -> tuple[str, str]:
    name, _, value = text.strip().partition(" ")
    return name, value.strip()
