"""Anybody's environment by its path: what is wrong with it is said in one line."""

import pytest

from langgraph_reflexion.envs import load_environment
from langgraph_reflexion.errors import ConfigurationError, EnvironmentUnavailable

CODE = """
from tests.support.toys import Counter

NUMBER = 5

class Clumsy(Counter):
    made = 0

    def __init__(self, limit=20):
        type(self).made += 1
        super().__init__(limit + None)

class Keyed(Counter):
    def __init__(self):
        self.key = {}["key"]

class Missing(Counter):
    def __init__(self):
        from langgraph_reflexion.errors import EnvironmentUnavailable
        raise EnvironmentUnavailable("its data is not here")

class Forwarding(Counter):
    def __init__(self, **options):
        super().__init__(**options)

class Seeded(Counter):
    def __init__(self, seed):
        super().__init__(seed)

class ForwardingSeed(Seeded):
    def __init__(self, **options):
        super().__init__(**options)
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Writes a module that can be imported, under a name of its own."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(name, text=CODE):
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
        return name

    return write


def refused(name, **options):
    with pytest.raises(ConfigurationError) as caught:
        load_environment(name, **options)
    assert "\n" not in str(caught.value)
    assert repr(name) in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("name", [":x", ".a:B", "..a:B", "a.b", "a.b:", ":", ""])
def test_what_is_no_path_is_told_how_one_is_written(name):
    assert "package.module:Class" in refused(name)


@pytest.mark.parametrize("name", ["no_such_module_at_all:B", "a..b:C", "tests.support.toys:Missing"])
def test_what_is_not_there_is_named(name):
    assert "cannot load the environment" in refused(name)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("raise RuntimeError('no\\n  luck')", "RuntimeError: no luck"),
        ("class Broken(\n", "SyntaxError: "),
        ("import sys\nsys.exit(3)", "SystemExit: 3"),
        ("import no_such_module_at_all", "No module named 'no_such_module_at_all'"),
    ],
)
def test_a_module_that_cannot_be_imported(module, text, says):
    name = module(f"cannot_{abs(hash(text))}", text)
    assert says in refused(f"{name}:Broken")


def test_an_option_that_is_not_taken_is_told_from_a_slip_in_the_code(module):
    name = module("slips_in_its_code")
    told = refused(f"{name}:Clumsy", speed=3)
    assert "does not take these options: got an unexpected keyword argument 'speed' (it takes " in told
    assert "does not take these options: missing a required argument: 'seed'" in refused(f"{name}:Seeded")
    assert refused(f"{name}:Clumsy").startswith(
        f"cannot make the environment '{name}:Clumsy': TypeError: unsupported operand"
    )
    assert "KeyError: 'key'" in refused(f"{name}:Keyed")
    assert "TypeError: " in refused(f"{name}:Forwarding", speed=3)


def test_an_option_that_is_not_taken_is_known_before_anything_is_made(module):
    name = module("makes_nothing")
    refused(f"{name}:Clumsy", speed=3)
    assert __import__(name).Clumsy.made == 0


def test_a_seed_is_given_to_those_who_take_one(module):
    name = module("seeded")
    assert load_environment(f"{name}:Seeded", seed=7).limit == 7
    assert load_environment(f"{name}:Forwarding", limit=3, seed=7).limit == 3
    assert load_environment(f"{name}:ForwardingSeed", seed=7).limit == 7


def test_the_errors_of_this_package_come_through_as_they_are(module):
    name = module("says_what_is_missing")
    with pytest.raises(EnvironmentUnavailable, match="its data is not here"):
        load_environment(f"{name}:Missing")


@pytest.mark.parametrize(
    ("attribute", "says"), [("NUMBER", "and not an environment's class"), ("dict", "makes a dict, not an")]
)
def test_what_makes_no_environment(module, attribute, says):
    name = module("makes_none")
    assert says in refused("builtins:dict" if attribute == "dict" else f"{name}:{attribute}")
