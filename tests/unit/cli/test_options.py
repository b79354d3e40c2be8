import re
from typing import Any, Literal

import pytest
import typer
from pydantic import BaseModel, Field
from typer.main import get_command
from typer.testing import CliRunner

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.lab.cli.commands import app
from langgraph_reflexion.lab.cli.help import OPEN, GroupedCommand
from langgraph_reflexion.lab.cli.options import flag, takes
from langgraph_reflexion.lab.declared import option
from langgraph_reflexion.lab.run_settings import RunSettings
from langgraph_reflexion.lab.settings import BudgetSettings


class Oven(BaseModel):
    dish: str = Field(description="What is baked.")
    minutes: int | None = Field(None, ge=1, description="How long.  [default: until it is done]")
    heat: Literal["top", "bottom"] | None = Field(None, description="Where from.")
    degrees: float = Field(180.0, gt=0, allow_inf_nan=False, description="How hot.")
    fan: bool = Field(False, description="Move the air.")
    light: bool = Field(True, description="Light it.")
    spices: dict[str, str] = Field({}, description="SPICE=GRAMS.")
    herbs: dict[str, str] = option({}, "Fresh.", metavar="HERB=LEAVES", resume="raise")
    budgets: dict[Literal["day", "week"], BudgetSettings] = Field({}, description="What may be spent.")
    options: dict[str, Any] = Field({}, description="Anything.")


@pytest.fixture
def bake():
    """Run a command that takes these settings; returns them, or the result of wrong use."""
    seen = []
    application = typer.Typer(rich_markup_mode=None)

    @application.command(cls=GroupedCommand, context_settings=OPEN)
    @takes(Oven)
    def run(settings: Oven, plates: int = 1) -> None:
        seen.append((settings, plates))

    def call(*args):
        result = CliRunner().invoke(application, args, catch_exceptions=False)
        return seen.pop() if seen else result.output

    return call


def test_given_values_become_the_settings(bake):
    assert bake("bread") == (Oven(dish="bread"), 1)
    settings, plates = bake(
        *("cake", "--minutes", "30", "--heat", "top", "--degrees", "200", "--fan", "--no-light"),
        *("--spice", "a=b=2", "--spice", "salt=1", "--budget", "day.tokens=5", "--budget", "day.cost=0.5"),
        *("--budget", "week.tokens=none"),
        *("--option", "crust=true", "--shape", "round", "--high=3", "--wide_open", "--plates", "2"),
    )
    assert settings == Oven(
        dish="cake",
        minutes=30,
        heat="top",
        degrees=200,
        fan=True,
        light=False,
        spices={"a=b": "2", "salt": "1"},
        budgets={"day": BudgetSettings(tokens=5, cost=0.5), "week": BudgetSettings()},
        options={"crust": True, "shape": "round", "high": 3, "wide_open": True},
    )
    assert plates == 2


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["--heat", "left"], "--heat must be 'top' or 'bottom', not 'left'"),
        (["--crust", "--Light"], "unexpected argument '--Light': write an option as --KEY VALUE"),
        (["--degrees", "nan"], "--degrees must be a finite number"),
        (["--spice", "salt"], "--spice 'salt': write it as KEY=VALUE"),
        (["--budget", "year.tokens=1"], "--budget 'year.tokens=1': there is no 'year', but day, week"),
        (["--budget", "day.tokens=few"], "--budget day.tokens must be a valid integer, not 'few'"),
        (["--seed", "3", "x"], "'x'"),
        (["--heat", "--out", "x"], "--heat needs a value (top|bottom), and is followed by --out"),
        (["--plates", "--fan"], "--plates needs a value (VALUE), and is followed by --fan"),
        (["--path=y", "x"], "'x'"),
    ],
)
def test_an_error_names_the_option(bake, args, says):
    with pytest.raises(ConfigurationError, match=re.escape(says)):
        bake("bread", *args)


def test_commands_take_the_options_of_their_settings():
    def options(command):
        parameters = get_command(app).commands[command].params
        return {name for each in parameters for name in each.opts if name.startswith("--")}

    flags = {name: flag(name, field) for name, field in RunSettings.model_fields.items() if name != "environment"}
    assert options("run") == {*flags.values(), "--out", "--json", "--fail-below", "--not-worse-than"}
    free, raised = ({flags[name] for name in RunSettings.resumable(kind)} for kind in ("free", "raise"))
    assert raised == {"--max-trials", "--limit", "--budget"}
    assert options("resume") == {*free, *raised, "--base-url", "--database", "--lessons", "--json"}


def test_an_environment_of_any_options_takes_those_that_resemble_the_commands(tmp_path):
    file = tmp_path / "open_options.py"
    file.write_text(
        "from tests.support.toys import Counter\n"
        "class Open(Counter):\n"
        "    def __init__(self, colour='red', **options): raise ValueError(options)\n"
    )
    result = CliRunner().invoke(app, ["play", f"{file}:Open", "--model-name", "m"])
    assert "ValueError: {'model_name': 'm'}" in str(result.exception)
