import pytest

from langgraph_reflexion.envs import load_environment
from langgraph_reflexion.errors import ConfigurationError

CODE = """
from tests.support.toys import Counter

counter = Counter()

class Clumsy(Counter):
    def __init__(self, limit=20):
        super().__init__(limit + None)

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


def test_a_module_that_cannot_be_imported(module):
    raising = module("cannot_raises", "raise RuntimeError('no\\n  luck')")
    assert "RuntimeError: no luck" in refused(f"{raising}:Broken")
    assert "SystemExit: 3" in refused(f"{module('cannot_exits', 'import sys; sys.exit(3)')}:Broken")


def test_an_option_that_is_not_taken_is_told_from_a_slip_in_the_code(module):
    name = module("slips")
    assert "has no option 'speed': it takes " in refused(f"{name}:Clumsy", speed=3)
    assert "is missing a required argument: 'seed'" in refused(f"{name}:Seeded")
    slip = f"cannot make the environment '{name}:Clumsy': TypeError: unsupported operand"
    assert refused(f"{name}:Clumsy").startswith(slip)
    assert "TypeError: " in refused(f"{name}:Forwarding", speed=3)


def test_a_seed_is_given_to_those_who_take_one(module):
    name = module("seeded")
    assert load_environment(f"{name}:counter").limit == 20
    assert load_environment(f"{name}:Seeded", seed=7).limit == 7
    assert load_environment(f"{name}:Forwarding", limit=3, seed=7).limit == 3
    assert load_environment(f"{name}:ForwardingSeed", seed=7).limit == 7


def test_the_sandbox_of_programs_is_named_by_its_backend():
    with pytest.raises(ConfigurationError, match=r"backend='bublewrap'.*did you mean bubblewrap"):
        load_environment("programming", sandbox="bublewrap")
