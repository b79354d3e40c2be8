"""A few questions of our own in HotPotQA's two forms, with what real files have: shared paragraphs, a title that
supports twice, titles in brackets, accents, sentences with and without a blank before them.
"""

BIRCH = ["Birch (tree)", ["The birch is a tree.", " It was first felled in Ålmö.", " Its bark is white."]]
ALMO = ["Ålmö", ["Ålmö is a village.", " The river Ket runs through it.", " It has 12 houses."]]
KET = ["Ket", ["The Ket is a river of 40 km.", "It freezes."]]
WILLOW = ["Willow", ["The willow is another tree.", " It likes water."]]
WILLOW_FILM = ["Willow (film)", ["Willow is a film about a birch."]]

OFFICIAL = [
    {
        "_id": "a1",
        "question": "Which river runs through the village where the birch was first felled?",
        "answer": "Ket",
        "type": "bridge",
        "level": "hard",
        "supporting_facts": [["Birch (tree)", 1], ["Ålmö", 0], ["Ålmö", 1]],
        "context": [WILLOW, BIRCH, WILLOW_FILM, ALMO],
    },
    {
        "_id": "b2",
        "question": "Are the birch and the willow both trees?",
        "answer": "yes",
        "type": "comparison",
        "level": "easy",
        "supporting_facts": [["Birch (tree)", 0], ["Willow", 0]],
        "context": [BIRCH, WILLOW, KET],
    },
]


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
