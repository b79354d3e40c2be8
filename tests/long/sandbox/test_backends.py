import json
import shutil
import subprocess
import sys

import pytest

from langgraph_reflexion.envs.sandbox import BACKENDS, Sandbox, client
from tests.support.sandbox import columns

OFF = 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"'
NO_NAMESPACES = ["unshare", "--user", "--map-root-user", "sh", "-c", OFF, "sh"]


def crippled(what):
    """Return the report of an agent without user namespaces."""
    tried = subprocess.run([*NO_NAMESPACES, "true"], capture_output=True, text=True)
    if tried.returncode != 0:
        pytest.skip(f"user namespaces cannot be disabled here: {tried.stderr}")
    command = [*NO_NAMESPACES, sys.executable, str(columns.HERE / "crippled.py"), what]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_landlock_replaces_bubblewrap_without_user_namespaces():
    columns.needs("landlock")
    report = crippled("nothing")
    assert (report["backend"], report["text"]) == ("landlock", "42\n")
    [warning] = report["warnings"]
    assert "weaker than bubblewrap" in warning
    if shutil.which("bwrap"):
        assert "bwrap: " in report["bubblewrap"]
    assert "too weak" in report["refused"]
    assert "allow_degraded=True" in report["refused"]
    assert report["allowed"] == ["ok", ["file"]]


def test_error_without_any_backend_quotes_each_probe():
    error = crippled("landlock")["error"]
    assert error.startswith("no sandbox works here. bubblewrap: ")
    for words in ("apt install bubblewrap", "landlock_create_ruleset: Function not implemented", "with Landlock"):
        assert words in error
    assert "unsafe" not in error


def test_bare_host_is_never_chosen():
    assert [name for name, backend in BACKENDS.items() if backend.automatic] == ["bubblewrap", "landlock"]
    assert Sandbox("unsafe-bare-host").run(["echo", "x"]).text == "x\n"


def test_helper_imports_only_the_standard_library():
    listing = (
        "import sys; sys.argv = ['boot']; sys.path.insert(0, sys.argv[0])\n"
        "import importlib.util\n"
        f"spec = importlib.util.spec_from_file_location('boot', {str(client.BOOT)!r})\n"
        "boot = importlib.util.module_from_spec(spec); spec.loader.exec_module(boot); boot.load('supervisor')\n"
        "print(*sorted({name.partition('.')[0] for name in sys.modules} - set(sys.stdlib_module_names)))"
    )
    done = subprocess.run([sys.executable, "-I", "-S", "-c", listing], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) <= {"boot", "langgraph_reflexion", "__main__", "__mp_main__"}
