"""The programming problems of docs/experiments: a plain prompt, and the examples in a description as the tests."""

from pathlib import Path

from langgraph_reflexion import create_reflexion, load_environment
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.toys import text_of

PROGRAMS = str(Path(__file__).parents[2] / "docs" / "experiments" / "programs.py")


def test_a_plain_prompt_holds_the_description_and_one_sentence():
    environment = load_environment(f"{PROGRAMS}:Programs")
    [task] = environment.tasks(limit=1)
    model = ScriptedChatModel(replies=lambda messages: "```python\npass\n```")
    create_reflexion(model, environment, actor="plain", evaluator="none", max_trials=1).compile().invoke(
        {"task": task}
    )
    [prompt] = model.prompts
    said = text_of(prompt)
    assert task["instruction"] in said
    assert len(said.replace(task["instruction"], "").split()) < 25


def test_visible_tests_are_the_examples_in_the_description_and_no_model_writes_any():
    environment = load_environment(f"{PROGRAMS}:VisibleTests")
    task = next(each for each in environment.tasks() if ">>>" in each["instruction"])
    right = environment.answer(task)
    model = ScriptedChatModel(replies=lambda messages: f"```python\n{task['instruction']}\n{right}\n```")
    graph = create_reflexion(model, environment, max_trials=1).compile()
    final = graph.invoke({"task": task})
    assert len(model.prompts) == 1
    assert final["task"]["prepared"]["tests"] == environment.described_tests(task)
    assert final["trials"][0]["verdict"] is True
