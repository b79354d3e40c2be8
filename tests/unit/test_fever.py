import json
import re
from collections import Counter, defaultdict

import pytest

from langgraph_reflexion.envs.fever.claims import EACH, LABELS, own_claims
from langgraph_reflexion.envs.fever.environment import FEVER
from langgraph_reflexion.envs.hotpotqa.world.questions import own_world
from langgraph_reflexion.errors import ConfigurationError

OFFICIAL = [
    {"id": 7, "label": "SUPPORTS", "claim": "The oak is a tree.", "evidence": [[[1, 2, "Oak", 0]]]},
    {"id": 8, "label": "NOT ENOUGH INFO", "claim": "The oak sings.", "evidence": []},
]


def official(folder, entries):
    (folder / "paper_dev.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    return FEVER(path=folder / "paper_dev.jsonl")


@pytest.mark.parametrize("seed", [0, 1, 7919])
def test_labels_are_equally_frequent_and_a_kind_does_not_give_them_away(seed):
    claims = own_claims(seed)
    assert Counter(claim.answer for claim in claims) == dict.fromkeys(LABELS, EACH)
    assert len({claim.text for claim in claims}) == len({claim.id for claim in claims}) == len(claims)
    labels = defaultdict(set)
    for claim in claims:
        labels[claim.id.rpartition("-")[2]].add(claim.answer)
    assert {kind for kind, found in labels.items() if len(found) == 1} <= {"maker_town", "namesake_year", "work_year"}


def test_the_pages_decide_the_claims_on_one_page():
    pages = {page.title: page.text for page in own_world(0).pages}
    forms = {
        "birth_town": (r"The \w+ (.+) was born in (\w+)\.", r"was born in {}\b"),
        "teacher": (r"The \w+ (.+) studied under (.+)\.", r"studied under the \w+ {}\b"),
        "length": (r"The river (.+) is (\d+) kilometres long\.", r"is {} kilometres long"),
    }
    checked = Counter()
    for claim in own_claims(0):
        claimed, stated = forms.get(claim.id.rpartition("-")[2], ("(?!)", ""))
        if (match := re.fullmatch(claimed, claim.text)) and (page := pages.get(match[1])):
            found = [bool(re.search(stated.format(each), page)) for each in (match[2], r"\w+")]
            assert found == [claim.answer == "SUPPORTS", claim.answer != "NOT ENOUGH INFO"], claim
            checked[claim.answer] += 1
    assert min(checked[label] for label in LABELS) >= 2


def test_official_claims_are_tasks_and_need_pages(tmp_path):
    environment = official(tmp_path, OFFICIAL)
    first, second = environment.tasks()
    assert (first["id"], first["instruction"]) == ("7", "Claim: The oak is a tree.")
    assert second["data"]["answer"] == "NOT ENOUGH INFO"
    with pytest.raises(ConfigurationError, match="contains no pages: give some as corpus="):
        environment.start(first)


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ({"id": 9, "claim": "Another label.", "label": "DISPUTED"}, "line 3: label must be 'SUPPORTS', 'REFUTES' or"),
        ({**OFFICIAL[0], "id": 9, "claim": " "}, "line 3: claim must have at least 1 character"),
        ({**OFFICIAL[0], "claim": "The same id."}, "line 3: another entry has the id '7'"),
    ],
)
def test_a_file_of_something_else_is_refused(tmp_path, entry, says):
    with pytest.raises(ConfigurationError, match=says):
        official(tmp_path, [*OFFICIAL, entry]).tasks()


@pytest.mark.parametrize(
    ("label", "reward"), [("SUPPORTS", 1.0), ("supports.", 1.0), ("REFUTES", 0.0), ("NOT ENOUGH INFORMATION", 0.0)]
)
def test_a_label_ends_the_trial_and_is_graded_as_in_react(label, reward):
    environment = FEVER()
    episode = environment.start(next(t for t in environment.tasks() if t["data"]["answer"] == "SUPPORTS"))
    result = episode.step(environment.parse(f"finish[{label}]"))
    assert (result.reward, result.terminated) == (reward, True)
