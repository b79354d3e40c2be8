import os
import shutil
import sys
import tempfile
import venv
from pathlib import Path

import pytest

from langgraph_reflexion.envs.sandbox.exposed_paths import exposed_paths
from tests.support.sandbox.columns import make


@pytest.fixture(params=["temporary", "home"])
def folder(request):
    """Create a private folder below a temporary directory and below the home directory."""
    made = Path(
        tempfile.mkdtemp(prefix="sandbox-visible-", dir=None if request.param == "temporary" else Path.home())
    )
    yield made
    shutil.rmtree(made)


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


def test_virtual_environment(folder, monkeypatch):
    venv.create(folder / "venv", symlinks=True)
    packages = folder / "venv" / "lib" / f"python3.{sys.version_info.minor}" / "site-packages"
    private = [folder / "private.txt", folder / "venv" / "pip.conf"]
    for path in private:
        path.write_text("secret")
    (packages / "wonderful.py").write_text("VALUE = 42\n")
    write(folder / "venv/bin/tool", f"#!{folder}/venv/bin/python\nimport wonderful\nprint(wonderful.VALUE)\n")
    monkeypatch.setenv("PATH", f"{folder / 'venv' / 'bin'}{os.pathsep}/usr/bin")
    for backend in ("bubblewrap", "landlock"):
        sandbox = make(backend)
        assert sandbox.run(["python", "-c", "import wonderful; print(wonderful.VALUE)"]).text == "42\n"
        assert sandbox.run(["tool"]).text == "42\n"
        for path in private:
            assert "Error" in sandbox.run(["python", "-c", f"open({str(path)!r})"]).errors
        changed = sandbox.run(["python", "-c", f"open({str(packages / 'wonderful.py')!r}, 'w')"])
        assert changed.status == "failed"


def test_link_exposes_its_target_and_the_installation_around_it(folder, monkeypatch):
    write(folder / "apps/thing/bin/thing", '#!/bin/sh\ncat "$(dirname "$(readlink -f "$0")")/../lib/data"\n')
    write(folder / "apps/thing/lib/data", "found")
    write(folder / "notes/tool.sh", "#!/bin/sh\necho tool\n")
    write(folder / "notes/secret", "secret")
    (folder / "links").mkdir()
    (folder / "links" / "thing").symlink_to(folder / "apps/thing/bin/thing")
    (folder / "links" / "tool").symlink_to(folder / "notes/tool.sh")
    monkeypatch.setenv("PATH", f"{folder / 'links'}:/usr/bin")
    sandbox = make("bubblewrap")
    assert sandbox.run(["thing"]).text == "found"
    assert sandbox.run(["tool"]).text == "tool\n"
    shown = {path.removeprefix(f"{folder}/") for path in exposed_paths(str(folder / "links")).paths}
    assert {"apps/thing/bin", "apps/thing/lib", "notes/tool.sh"} <= shown
    assert not {str(folder), "apps", "apps/thing", "notes", "notes/secret"} & shown
