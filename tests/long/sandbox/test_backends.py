"""The choice of a backend, also on hosts where some cannot work, and the command line."""

import json
import shutil
import subprocess
import sys

import pytest

from langgraph_reflexion.envs.sandbox import BACKENDS, Sandbox, client
from tests.support.sandbox import columns

OFF = 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"'
NO_NAMESPACES = ["unshare", "--user", "--map-root-user", "sh", "-c", OFF, "sh"]


def crippled(what: str) -> dict:
    """Return the report of an agent without user namespaces."""
    tried = subprocess.run([*NO_NAMESPACES, "true"], capture_output=True, text=True)
    if tried.returncode != 0:
        pytest.skip(f"user namespaces cannot be disabled here: {tried.stderr}")
    command = [*NO_NAMESPACES, sys.executable, str(columns.HERE / "crippled.py"), what]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_landlock_replaces_bubblewrap_without_user_namespaces() -> None:
    columns.needs("landlock")
    report = crippled("nothing")
    assert report["backend"] == "landlock"
    assert report["text"] == "42\n"
    assert len(report["warnings"]) == 1
    assert "weaker than bubblewrap" in report["warnings"][0]
    if shutil.which("bwrap"):
        assert "bwrap: " in report["bubblewrap"]
    assert "too weak" in report["refused"]
    assert "allow_degraded=True" in report["refused"]
    assert report["allowed"] == ["ok", ["file"]]


def test_error_without_any_backend_quotes_each_probe() -> None:
    error = crippled("landlock")["error"]
    assert error.startswith("no sandbox works here. bubblewrap: ")
    assert "apt install bubblewrap" in error
    assert "landlock_create_ruleset: Function not implemented" in error
    assert "use a kernel with Landlock" in error
    assert "unsafe" not in error


def test_bare_host_is_never_chosen() -> None:
    assert [name for name, backend in BACKENDS.items() if backend.automatic] == ["bubblewrap", "landlock"]
    assert Sandbox("unsafe-bare-host").run(["echo", "x"]).text == "x\n"


def test_helper_imports_only_the_standard_library() -> None:
    listing = (
        "import sys; sys.argv = ['boot']; sys.path.insert(0, sys.argv[0])\n"
        "import importlib.util\n"
        f"spec = importlib.util.spec_from_file_location('boot', {str(client.BOOT)!r})\n"
        "boot = importlib.util.module_from_spec(spec); spec.loader.exec_module(boot); boot.load('supervisor')\n"
        "print(*sorted({name.partition('.')[0] for name in sys.modules} - set(sys.stdlib_module_names)))"
    )
    done = subprocess.run([sys.executable, "-I", "-S", "-c", listing], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) <= {"boot", "langgraph_reflexion", "__main__", "__mp_main__"}
