import re
from pathlib import Path

import pytest

from langgraph_reflexion import ConfigurationError, create_reflexion, load_environment
from langgraph_reflexion.envs.base import prompts_of
from langgraph_reflexion.prompts import load_prompts
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.toys import Counter, count_to

STEP = '[[example.step]]\nthought = "Hm."\naction = "look"\nobservation = "Fog."\n'
EXAMPLE = f'[[example]]\nkind = "KIND"\nobservation = "OPENING"\n{STEP}'


def example(opening, kind=""):
    return EXAMPLE.replace("KIND", kind).replace("OPENING", opening)


def test_a_string_with_a_separator_is_a_path(tmp_path, monkeypatch):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "setting.md").write_text("You are at sea.", encoding="utf-8")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    for path in (str(tmp_path / "mine"), "./mine", "~/mine"):
        assert load_prompts(path).render("setting") == "You are at sea."
    assert load_prompts("alfworld").folder.name == "alfworld"
    assert load_prompts().folder is None


def test_what_is_no_folder_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").mkdir()
    said = dict.fromkeys((Path("mien"), "./mien", "alfworld/heat"), "is not a folder")
    for name, words in (said | {"mine": r"folder as \./mine$", "alfwrld": "did you mean alfworld"}).items():
        with pytest.raises(ConfigurationError, match=words):
            load_prompts(name)


def test_examples_by_kind(tmp_path):
    told = example("Ice.", "cool") + example("Fire.", "heat") + example("Anything.") + example("More fire.", "heat")
    (tmp_path / "examples.toml").write_text(told, encoding="utf-8")
    asked = [(None, 9), ("heat", 2), ("slice", 2), ("heat", 0)]
    shown = [load_prompts(tmp_path).examples(kind, count) for kind, count in asked]
    assert [[each.observation for each in examples] for examples in shown] == [
        ["Ice.", "Fire.", "Anything.", "More fire."],
        ["Fire.", "Anything."],
        ["Anything."],
        [],
    ]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[[example", "is not TOML: "),
        (example("Fog.") + "[[example]]\nobservation = 'Fog.'", r"example\.\d.(step|reflection) is missing"),
        ("[[example]]\nobservation = 5\n" + STEP, r"example\.0\.observation must"),
    ],
)
@pytest.mark.parametrize("name", ["examples.toml", "reflections.toml"])
def test_an_error_in_an_example_names_its_place(tmp_path, name, text, says):
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(ConfigurationError, match=rf"{tmp_path / name}.*{says}"):
        load_prompts(tmp_path)


def test_files_that_the_user_does_not_have_are_the_environments(tmp_path):
    (tmp_path / "setting.md").write_text("You are at sea.", encoding="utf-8")
    shipped = load_prompts("alfworld")
    prompts = shipped.under(load_prompts(tmp_path))
    assert prompts.render("setting") == "You are at sea."
    assert prompts.text("actions") == shipped.text("actions")
    assert prompts.examples(None, 9) == shipped.examples(None, 9)
    assert prompts.examples("slice", 2) == shipped.examples(None, 2), "those of others where a kind has none"


def test_an_environment_of_the_users_keeps_the_prompts_that_ship_under_its_name(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "failed_trial.md").write_text("It failed.", encoding="utf-8")

    class Mine(type(load_environment("hotpotqa"))):
        prompts = tmp_path / "mine"

    shipped = load_prompts("hotpotqa")
    prompts = prompts_of(Mine())
    assert prompts.render("failed_trial") == "It failed."
    assert prompts.text("setting") == shipped.text("setting")
    assert prompts.examples(None, 9) == shipped.examples(None, 9) != ()

    copy = tmp_path / "copy"
    copy.mkdir()
    for name, text in prompts.files().items():
        (copy / name).write_text(text, encoding="utf-8")
    assert load_prompts(copy).examples(None, 9) == shipped.examples(None, 9), "a run folder's copy gives the same"


@pytest.mark.parametrize("text", ["{% if %}", "{{ nothing }}"])
def test_an_error_in_a_template_names_its_file(tmp_path, text):
    (tmp_path / "setting.md").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigurationError, match=re.escape(str(tmp_path / "setting.md"))):
        load_prompts(tmp_path).render("setting")


@pytest.mark.parametrize("by", ["argument", "environment"])
def test_the_users_prompts_reach_the_model(tmp_path, by):
    (tmp_path / "setting.md").write_text("You are at sea.", encoding="utf-8")
    (tmp_path / "examples.toml").write_text(example("Fog over the harbour."), encoding="utf-8")
    model, environment = ScriptedChatModel(replies=["Action: add 3"]), Counter()
    if by == "environment":
        environment.prompts = tmp_path
    prompts = load_prompts(tmp_path) if by == "argument" else None
    create_reflexion(model, environment, prompts=prompts).compile().invoke({"task": count_to(3)})
    assert "You are at sea." in model.prompts[0][0].text
    assert model.prompts[0][1].text == "Fog over the harbour."


@pytest.mark.parametrize(
    ("domain", "kind", "kinds"),
    [
        ("programming", "python", ["python"]),
        ("programming", "rust", ["rust"]),
        ("programming", "go", ["python"]),
        ("programming", None, ["python", "rust"]),
        ("alfworld", "heat", ["", ""]),
    ],
)
def test_reflections_are_shown_by_kind(domain, kind, kinds):
    assert [example.kind for example in load_prompts(domain).reflections_on(kind)] == kinds
