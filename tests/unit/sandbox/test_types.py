from pathlib import Path

import pytest

from langgraph_reflexion import ConfigurationError
from langgraph_reflexion.envs.sandbox import Bind, Limits, Policy, Sandbox
from langgraph_reflexion.envs.sandbox.helper import protocol
from langgraph_reflexion.envs.sandbox.helper.bubblewrap import Bubblewrap


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("wall", value) for value in (0, float("nan"), "5", True)),
        *(("memory", value) for value in (0, 1 << 62)),
        *((name, 1 << 70) for name in ("processes", "disk")),
        ("descriptors", 2),
    ],
)
def test_limits_out_of_range_are_refused(name, value):
    with pytest.raises(ConfigurationError, match=f"Limits.{name} must be"):
        Limits(**{name: value})


@pytest.mark.parametrize(
    ("argv", "options", "word"),
    [
        ("true", {}, "argv"),
        ([], {}, "argv .*at least 1"),
        ([Path("/bin/true")], {}, "argv must be a string"),
        (["true", "a\0b"], {}, "NUL"),
        (["true", "x" * (1 << 17)], {}, "131071"),
        (["true"], {"files": {"a": None}}, "bytes"),
        (["true"], {"files": {"a": "\udcff"}}, "files .*utf-8"),
        (["true"], {"stdin": "\udcff"}, "stdin .*utf-8"),
        (["true"], {"files": {"/x": "x"}}, "within"),
        (["true"], {"files": {"a": "x", "a/b": "x"}}, "'a' cannot be both"),
        (["true"], {"files": {".": "x"}}, "both"),
        (["true"], {"files": {"n" * 256: "x"}}, "too long"),
        (["true"], {"stdin": None}, "stdin"),
        (["true"], {"collect": ["../x"]}, "within"),
        (["true"], {"policy": Policy(binds=(Bind(Path("/no/such")),))}, "exist"),
        (["true"], {"policy": Policy(binds=[Bind("/tmp")])}, "own"),
    ],
)
def test_invalid_requests_are_refused(argv, options, word):
    with pytest.raises(ConfigurationError, match=word):
        Sandbox("unsafe-bare-host").run(argv, **options)


def test_bind_redirected_by_a_link_in_a_writable_one_is_refused(tmp_path):
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "data").symlink_to("/etc")
    policy = Policy(binds=(Bind(tmp_path / "work", writable=True), Bind(tmp_path / "work" / "data")))
    with pytest.raises(ConfigurationError, match="link"):
        Sandbox("unsafe-bare-host").run(["true"], policy=policy)


def test_nul_never_becomes_an_option_of_bubblewrap():
    env = {"A": "x\0--ro-bind\0/\0/tmp/host"}
    request = protocol.Request(argv=["true"], limits=Limits(), env=env, files={}, exposed=())
    with pytest.raises(ValueError, match="NUL"):
        Bubblewrap(request, None).arguments(7)


@pytest.mark.parametrize(
    ("env", "word"), [({"A": "x\0--ro-bind\0/\0/tmp/h"}, "NUL"), ({"A": 1}, "string"), ({"A=B": "C"}, "pattern")]
)
def test_invalid_variables_are_refused(env, word):
    with pytest.raises(ConfigurationError, match=f"Policy.env.*{word}"):
        Policy(env=env)
