"""Options that are made from the fields of a settings class."""

from typing import Any, Literal

import pytest
import typer
from pydantic import BaseModel, Field
from typer.main import get_command
from typer.testing import CliRunner

from langgraph_reflexion.cli import app
from langgraph_reflexion.cli.options import OPEN, flag, takes
from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.settings import BudgetSettings, RunSettings, option


class Oven(BaseModel):
    """Settings with a field of every kind."""

    dish: str = Field(description="What is baked.")
    minutes: int | None = Field(None, ge=1, description="How long.  [default: until it is done]")
    heat: Literal["top", "bottom"] | None = Field(None, description="Where from.")
    degrees: float = Field(180.0, gt=0, allow_inf_nan=False, description="How hot.")
    fan: bool = Field(False, description="Move the air.")
    light: bool = Field(True, description="Light it.")
    timer: bool | None = Field(None, description="Ring.")
    spices: dict[str, str] = Field({}, description="SPICE=GRAMS.")
    herbs: dict[str, str] = option({}, "Fresh.", metavar="HERB=LEAVES", resume="raise")
    eggs: int = option(0, "Broken.", resume="raise")
    budgets: dict[Literal["day", "week"], BudgetSettings] = Field({}, description="What may be spent.")
    options: dict[str, Any] = Field({}, description="Anything.")


@pytest.fixture
def bake() -> Any:
    """Run a command that takes these settings; returns them, or the result of wrong use."""
    seen: list[Any] = []
    application = typer.Typer(rich_markup_mode=None)

    @application.command(context_settings=OPEN)
    @takes(Oven)
    def run(settings: Oven, plates: int = 1) -> None:
        """Bake."""
        seen.append((settings, plates))

    @application.command()
    @takes(Oven, only=("minutes", "light", "budgets", "eggs"), helps={"minutes": "How much longer."})
    def again(given: dict[str, Any]) -> None:
        """Bake again."""
        seen.append(given)

    def call(*args: str) -> Any:
        seen.clear()
        result = CliRunner().invoke(application, args)
        if isinstance(result.exception, ConfigurationError):
            raise result.exception
        return seen[0] if seen else result.output

    return call


def test_what_is_given_is_the_settings_and_the_rest_has_its_default(bake: Any) -> None:
    assert bake("run", "bread") == (Oven(dish="bread"), 1)
    settings, plates = bake(
        *("run", "cake", "--minutes", "30", "--heat", "top", "--degrees", "200", "--fan", "--no-light", "--timer"),
        *("--spice", "a=b=2", "--spice", "salt=1", "--budget", "day.tokens=5", "--budget", "day.cost=0.5"),
        *("--option", "crust=true", "--shape", "round", "--high=3", "--plates", "2"),
    )
    assert settings == Oven(
        dish="cake",
        minutes=30,
        heat="top",
        degrees=200,
        fan=True,
        light=False,
        timer=True,
        spices={"a=b": "2", "salt": "1"},
        budgets={"day": BudgetSettings(tokens=5, cost=0.5)},
        options={"crust": True, "shape": "round", "high": 3},
    )
    assert plates == 2


def test_a_command_may_take_some_fields_and_hears_only_of_what_was_given(bake: Any) -> None:
    assert bake("again") == {}
    assert bake("again", "--minutes", "3", "--no-light", "--budget", "day.tokens=none") == {
        "minutes": 3,
        "light": False,
        "budgets": {"day": {"tokens": None}},
    }
    assert "No such option: --degrees" in bake("again", "--degrees", "3")


def test_help_has_choices_limits_and_defaults(bake: Any) -> None:
    shown = " ".join(bake("run", "--help").split())
    for said in (
        "--heat top|bottom Where from.",
        "How long. [default: until it is done] [x>=1]",
        "How hot. [default: 180.0]",
        "--light / --no-light Light it. [default: true]",
        "--fan Move the air. --light",
        "--spice KEY=VALUE SPICE=GRAMS. Repeatable.",
        "--herb HERB=LEAVES Fresh. Repeatable.",
        "Broken. [default: 0]",
        "--budget SCOPE.WHAT=N What may be spent. Repeatable.",
    ):
        assert said in shown
    shown = " ".join(bake("again", "--help").split())
    assert "How much longer. [x>=1]" in shown, "what is left out stays as it was"
    assert "Broken. Can only be raised." in shown


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["--heat", "left"], "the option --heat: input should be 'top' or 'bottom', not 'left'"),
        (["--degrees", "0"], "the option --degrees: input should be greater than 0"),
        (["--degrees", "nan"], "the option --degrees: input should be a finite number"),
        (["--spice", "salt"], "--spice 'salt': write it as KEY=VALUE"),
        (["--option", "a b=1"], "--option 'a b=1': write it as KEY=VALUE"),
        (["--budget", "day=1"], "--budget 'day=1': write it as SCOPE.WHAT=NUMBER"),
        (["--budget", "year.tokens=1"], "the option --budget year: input should be 'day' or 'week'"),
        (
            ["--budget", "day.tokens=few"],
            "the option --budget day.tokens: input should be a valid integer, not 'few'",
        ),
        (["--herb", "mint"], "--herb 'mint': write it as HERB=LEAVES"),
    ],
)
def test_wrong_values_are_named_by_their_option(bake: Any, args: list[str], says: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        bake("run", "bread", *args)
    assert says in str(caught.value)


def test_the_commands_take_what_their_settings_say() -> None:
    def options(command: str) -> set[str]:
        parameters = get_command(app).commands[command].params  # type: ignore[attr-defined]
        return {name for each in parameters for name in each.opts if name.startswith("--")}

    flags = {name: flag(name, field) for name, field in RunSettings.model_fields.items() if name != "environment"}
    assert {"--actor", "--max-trials", "--max-actions", "--max-cycles", "--price", "--budget"} <= set(flags.values())
    assert options("run") == {*flags.values(), "--out", "--apply", "--json"}
    free, raised = ({flags[name] for name in RunSettings.resumable(kind)} for kind in ("free", "raise"))  # type: ignore[arg-type]
    assert raised == {"--max-trials", "--limit", "--budget"}
    assert options("resume") == {*free, *raised, "--base-url", "--database", "--lessons", "--json"}
    assert options("experiment") == {*free, "--out", "--dry-run", "--like", "--json"}
