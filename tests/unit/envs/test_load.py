import pytest

from langgraph_reflexion.envs import load_environment
from langgraph_reflexion.errors import ConfigurationError

CODE = """
from tests.support.toys import Counter

class Clumsy(Counter):
    def __init__(self, limit=20):
        super().__init__(limit + None)

class Keyed(Counter):
    def __init__(self):
        self.key = {}["key"]

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


@pytest.mark.parametrize(
    ("name", "says"),
    [
        *((name, "package.module:NAME") for name in (":x", "a.b", "")),
        *((name, "cannot load the environment") for name in ("no_such_module:B", "tests.support.toys:Gone")),
        ("builtins:dict", "makes a dict, not an"),
        ("tests.support.toys:__name__", "and not an environment's class"),
    ],
)
def test_what_is_no_environment_is_refused(name, says):
    assert says in refused(name)


@pytest.mark.parametrize(
    ("code", "says"),
    [("raise RuntimeError('no\\n  luck')", "RuntimeError: no luck"), ("import sys; sys.exit(3)", "SystemExit: 3")],
)
def test_a_module_that_cannot_be_imported(module, code, says):
    assert says in refused(f"{module(f'cannot_{len(code)}', code)}:Broken")


@pytest.mark.parametrize(
    ("name", "options", "says"),
    [
        ("Clumsy", {"speed": 3}, "has no option 'speed': it takes "),
        ("Seeded", {}, "is missing a required argument: 'seed'"),
        ("Clumsy", {}, "cannot make the environment 'slips:Clumsy': TypeError: unsupported operand"),
        ("Keyed", {}, "KeyError: 'key'"),
        ("Forwarding", {"speed": 3}, "TypeError: "),
    ],
)
def test_an_option_that_is_not_taken_is_told_from_a_slip_in_the_code(module, name, options, says):
    assert says in refused(f"{module('slips')}:{name}", **options)


def test_a_seed_is_given_to_those_who_take_one(module):
    name = module("seeded")
    assert load_environment(f"{name}:Seeded", seed=7).limit == 7
    assert load_environment(f"{name}:Forwarding", limit=3, seed=7).limit == 3
    assert load_environment(f"{name}:ForwardingSeed", seed=7).limit == 7


def test_the_sandbox_of_programs_is_named_by_its_backend():
    with pytest.raises(ConfigurationError, match=r"backend='bublewrap'.*did you mean bubblewrap"):
        load_environment("programming", sandbox="bublewrap")
