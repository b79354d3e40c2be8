"""Another model than that of an experiment file."""

import pytest

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.lab.experiments.matrix_file import read_experiment

ONE = """
[common]
model = "openai:small"
base_url = "http://127.0.0.1:1/v1"

[environments.hotpotqa]

[environments.alfworld]
model = "openai:other"
"""


def models(tmp_path, text, **given):
    file = tmp_path / "file.toml"
    file.write_text(text)
    return [(spec.settings.model, spec.settings.base_url) for spec in read_experiment(file, **given).specs]


def test_another_model_replaces_every_one_of_the_file_with_its_address(tmp_path):
    address = "http://127.0.0.1:1/v1"
    assert models(tmp_path, ONE) == [("openai:small", address), ("openai:other", address)]
    assert models(tmp_path, ONE, model="openai:mine") == [("openai:mine", None)] * 2
    other = "http://127.0.0.1:2/v1"
    assert models(tmp_path, ONE, base_url=other) == [("openai:small", other), ("openai:other", other)]
    assert models(tmp_path, ONE, model="openai:mine", base_url=other) == [("openai:mine", other)] * 2


SMALL = """
[models.small]
model = "openai:small"
base_url = "http://127.0.0.1:1/v1"
temperature = 0.5
"""


@pytest.mark.parametrize(
    "text",
    [
        f'[matrix]\nmodels = ["small"]\nenvironments = ["alfworld"]\n{SMALL}',
        f'[environments.alfworld]\nmodels = ["small"]\n{SMALL}',
        f"[environments.alfworld]\n{SMALL}",
    ],
)
def test_the_only_model_may_have_a_label(tmp_path, text):
    address = "http://127.0.0.1:2/v1"
    assert models(tmp_path, text) == [("openai:small", "http://127.0.0.1:1/v1")]
    assert models(tmp_path, text, base_url=address) == [("openai:small", address)]
    assert models(tmp_path, text, model="openai:mine") == [("openai:mine", None)]
    [spec] = read_experiment(tmp_path / "file.toml", model="openai:mine").specs
    assert (spec.name, spec.settings.temperature) == ("alfworld-openai-mine-s0", 0.5)


def test_an_agent_that_has_its_own_model_is_not_called_by_another_one(tmp_path):
    file = tmp_path / "file.toml"
    file.write_text('[environments.slots]\nenvironment = "agent.py:agent"\noptions = { tasks = "tasks.jsonl" }\n')
    [spec] = read_experiment(file).specs
    assert spec.name == "slots-s0"
    file.write_text(f"{file.read_text()}model = 'openai:judge'\n")
    [spec] = read_experiment(file).specs
    assert spec.name == "slots-openai-judge-s0"


@pytest.mark.parametrize(
    "more",
    [
        '[models.a]\nmodel = "demo"\n[models.b]\nmodel = "openai:other"\n',
        '[matrix]\nmodels = ["demo", "openai:other"]\n',
        '[environments.fever]\nmodels = ["demo", "openai:other"]\n',
        '[ablations.other]\nmodel = "openai:other"\n',
    ],
)
def test_a_file_that_compares_models_keeps_them(tmp_path, more):
    with pytest.raises(ConfigurationError, match=r"file\.toml: --model and --base-url are for files with one model"):
        models(tmp_path, ONE + more, model="openai:mine")


STRATEGIES = """
[common]
max_trials = 3

[matrix]
environments = ["alfworld"]
strategies = ["retry", "reflexion"]
ablations = ["none", "short"]

[strategies.retry]
max_trials = 8

[ablations.short]
max_trials = 2
"""


def test_a_strategy_may_have_settings_of_its_own(tmp_path):
    file = tmp_path / "file.toml"
    file.write_text(STRATEGIES)
    trials = {spec.name: spec.settings.max_trials for spec in read_experiment(file).specs}
    assert trials == {
        "alfworld-retry-demo-s0": 8,
        "alfworld-retry-short-demo-s0": 2,
        "alfworld-reflexion-demo-s0": 3,
        "alfworld-reflexion-short-demo-s0": 2,
    }


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ("[strategies.feedback]\nmax_trials = 8", r"\[strategies.feedback\]: no run uses it"),
        ('[strategies.reflexion]\nstrategy = "retry"', r"\[strategies.reflexion\]: strategy is an axis"),
        ('[strategies.reflexion]\nmodel = "openai:x"', r"\[strategies.reflexion\]: model is an axis"),
        ("[strategies.reflexion]\nmax_trails = 8", r"max_trails"),
    ],
)
def test_a_wrong_table_of_a_strategy_is_named(tmp_path, table, says):
    file = tmp_path / "file.toml"
    file.write_text(f"{STRATEGIES}\n{table}\n")
    with pytest.raises(ConfigurationError, match=says):
        read_experiment(file)


def test_a_price_beside_several_models_is_refused(tmp_path):
    several = '[environments.alfworld]\n[models."openai:small,openai:large"]\nprice = "1,2"\n'
    with pytest.raises(ConfigurationError, match="price is that of one model"):
        models(tmp_path, several)
