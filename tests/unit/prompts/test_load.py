"""Prompts from the user's own folders, and the errors in them."""

import pytest

from langgraph_reflexion import ConfigurationError, create_reflexion
from langgraph_reflexion.prompts import Prompts, load_prompts
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.toys import Counter, Parrot, count_to

STEP = '[[example.step]]\nthought = "Hm."\naction = "look"\nobservation = "Fog."\n'
EXAMPLE = f'[[example]]\nkind = "KIND"\nobservation = "OPENING"\n{STEP}'


def example(opening, kind=""):
    return EXAMPLE.replace("KIND", kind).replace("OPENING", opening)


def test_a_folder_that_is_not_there_is_named(tmp_path):
    missing, file = tmp_path / "no-such", tmp_path / "file"
    file.write_text("You are at sea.", encoding="utf-8")
    for make in (load_prompts, Prompts):
        for path in (missing, file):
            with pytest.raises(ConfigurationError, match=f"{path} is not a folder"):
                make(path)


def test_a_string_with_a_separator_is_a_path(tmp_path, monkeypatch):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "setting.md").write_text("You are at sea.", encoding="utf-8")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    for path in (str(tmp_path / "mine"), "./mine", "~/mine"):
        assert load_prompts(path).render("setting") == "You are at sea."
    for path in (str(tmp_path / "mien"), "./mien", "alfworld/heat"):
        with pytest.raises(ConfigurationError, match="is not a folder"):
            load_prompts(path)


def test_a_name_is_none_and_may_have_no_folder(tmp_path, monkeypatch):
    (tmp_path / "mine").mkdir()
    monkeypatch.chdir(tmp_path)
    assert load_prompts("mine").folder is None
    assert load_prompts("alfwrold").folder is None
    assert load_prompts("alfworld").folder.name == "alfworld"


def test_examples_of_no_kind_fit_every_kind_and_any_will_do_where_none_fits(tmp_path):
    (tmp_path / "examples.toml").write_text(
        example("Ice.", "cool") + example("Fire.", "heat") + example("Anything.") + example("More fire.", "heat"),
        encoding="utf-8",
    )
    prompts = load_prompts(tmp_path)

    def openings(kind, count):
        return [shown.observation for shown in prompts.examples(kind, count)]

    assert openings(None, 9) == ["Ice.", "Fire.", "Anything.", "More fire."]
    assert openings("heat", 2) == ["Fire.", "Anything."]
    assert openings("slice", 2) == ["Anything."]
    assert openings(["heat"], 2) == ["Anything."]
    assert openings("heat", 0) == []
    shipped = load_prompts("alfworld")
    assert shipped.examples("slice", 2) == shipped.examples(None, 2)
    assert shipped.examples(["heat"], 2) == shipped.examples(None, 2)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "has no 'example'"),
        ("example = 5", "'example' is not a list of tables"),
        ("example = [5]", "example 1 is not a table"),
        ("[[example", "cannot be read: "),
        ("[[example]]\n" + STEP, "example 1 has no 'observation'"),
        (example("Fog.") + "[[example]]\nobservation = 'Fog.'", "example [12] has no '(step|reflection)'"),
        (example("Fog.") + "[[example.step]]\nthought = ''\nobservation = ''", "example 1, step 2 has no 'action'"),
        ("[[example]]\nobservation = 5\n" + STEP, "example 1: 'observation' is not text"),
        ("[[example]]\nobservation = ''\nstep = ['look']", "example 1, step 1 is not a table"),
    ],
)
def test_a_malformed_example_is_named(tmp_path, text, says):
    for name in ("examples.toml", "reflections.toml"):
        (tmp_path / name).write_text(text, encoding="utf-8")
        with pytest.raises(ConfigurationError, match=rf"{tmp_path / name}.*{says}"):
            load_prompts(tmp_path)
        (tmp_path / name).unlink()


def test_other_malformed_examples(tmp_path):
    (tmp_path / "reflections.toml").write_text(example("Fog."), encoding="utf-8")
    with pytest.raises(ConfigurationError, match=r"reflections\.toml, example 1 has no 'reflection'"):
        load_prompts(tmp_path)
    (tmp_path / "reflections.toml").unlink()
    (tmp_path / "examples.toml").write_text(example("Fog.").replace('"KIND"', "5").replace('kind = ""', "kind = 5"))
    with pytest.raises(ConfigurationError, match=r"examples\.toml, example 1: 'kind' is not text"):
        load_prompts(tmp_path)
    (tmp_path / "examples.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigurationError, match=r"examples\.toml cannot be read"):
        load_prompts(tmp_path)


@pytest.mark.parametrize("by", ["argument", "environment"])
def test_the_users_prompts_reach_the_model(tmp_path, by):
    (tmp_path / "setting.md").write_text("You are at sea.", encoding="utf-8")
    (tmp_path / "examples.toml").write_text(example("Fog over the harbour."), encoding="utf-8")
    model = ScriptedChatModel(replies=["Action: add 3"])
    environment = Counter()
    if by == "environment":
        environment.prompts = tmp_path
    prompts = load_prompts(tmp_path) if by == "argument" else None
    graph = create_reflexion(model, environment, prompts=prompts).compile()
    assert graph.invoke({"task": count_to(3)})["status"] == "solved"
    assert "You are at sea." in model.prompts[0][0].text
    assert "Fog over the harbour." in model.prompts[0][0].text


def test_an_environment_may_have_no_prompts():
    assert Counter().prompts is None
    assert Parrot.prompts is None
