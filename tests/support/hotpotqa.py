"""A few questions of our own in HotPotQA's two forms, with what real files have: shared paragraphs, a title that
supports twice, titles in brackets, accents, sentences with and without a blank before them.
"""

import json
from pathlib import Path

OFFICIAL = json.loads(Path(__file__).with_name("hotpotqa.json").read_text(encoding="utf-8"))


def as_on_the_hub(entry):
    """A question of the official form in the form of the Hugging Face hub."""
    titles, places = zip(*entry["supporting_facts"], strict=True)
    names, sentences = zip(*entry["context"], strict=True)
    return {
        **{key: value for key, value in entry.items() if key != "_id"},
        "id": entry["_id"],
        "supporting_facts": {"title": list(titles), "sent_id": list(places)},
        "context": {"title": list(names), "sentences": list(sentences)},
    }


ELM = (
    "The elm is a tree. It grows in rows. It has leaves. The leaves are small. They fall in autumn.\n"
    "An elm may live for three hundred years.\n\n\n== Use ==\nElms make boats. The boats last long."
)
PAGES = {
    "Elm": ELM,
    "Elm (film)": "Elm is a film about a boat.",
    "Ash & birch: 100% wood?": "Both are trees.",
    "Ålmö": "Ålmö is a village.",
}
"""Pages of a wiki."""
