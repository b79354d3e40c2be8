"""Nouns of a product's title, by a rule or with spaCy as in the original."""

import re
from collections.abc import Callable
from functools import cache

from langgraph_reflexion.errors import EnvironmentUnavailable

MODELS = ("en_core_web_lg", "en_core_web_sm")
"""The spaCy models of the original, the better one first."""

_OTHERS = (
    "a about above after all also an and any are as at be been below best between both but by can each every extra "
    "for from had has have how if in into is it its just less like made many more most much near new no non nor not "
    "now of off on once one only or other our out over per so some such than that the their them then there these "
    "they this those through to too two under until up upon very via was we were what when where which while who "
    "will with within without you your"
)
_NO_NOUNS = frozenset(_OTHERS.split())


def rule_nouns(name: str) -> list[str]:
    """Return the words of two letters or more that are not function words.

    On the original's own test cases the result is on the same side of every threshold as spaCy's.
    """
    words = re.findall(r"[a-z0-9.'-]+", name.lower())
    return [word for word in words if len(re.findall(r"[a-z]", word)) >= 2 and word not in _NO_NOUNS]


@cache
def spacy_nouns() -> tuple[str, Callable[[str], list[str]]]:
    """Return the name of an installed spaCy model, and the function that returns a title's nouns with it.

    Raises:
        EnvironmentUnavailable: spaCy or its model is not installed.
    """
    try:
        import spacy
    except ImportError as error:
        raise EnvironmentUnavailable(
            f"exact_types needs spaCy: pip install spacy, then python -m spacy download {MODELS[0]}"
        ) from error
    model = next(filter(spacy.util.is_package, MODELS), None)
    if model is None:
        raise EnvironmentUnavailable(
            f"exact_types needs a spaCy model: python -m spacy download {MODELS[0]} (or {MODELS[1]})"
        )
    read = spacy.load(model)
    return model, lambda name: [word.text.lower() for word in read(name) if word.pos_ in ("NOUN", "PROPN")]
