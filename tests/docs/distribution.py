"""The sdist and the wheel of a release: built from the last commit, checked, and tried outside the repository.

    python -m tests.docs.distribution build REPOSITORY [TAG]
    python -m tests.docs.distribution try

`REPOSITORY` is the address of the repository, which is written nowhere else: the workflow `release` knows its own.
"""

import email
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

from tests.docs.pages import BY_NAME, ROOT

PACKAGE = "langgraph-reflexion"
BUILD = ROOT / "build"
DIST = BUILD / "dist"
VERSION_FILE = "src/langgraph_reflexion/__init__.py"

LINK = re.compile(
    r"""(\]\(               # [text](target), ![text](target)
        |^\[[^\]]+\]:[ ]    # [name]: target
        |\b(?:src|srcset|href)=")
        (?!https?://|\#)
        ([^)\s"]+)""",
    re.MULTILINE | re.VERBOSE,
)
"""A link or a picture that names a file of the repository: what stands before the name, and the name."""

FENCED = re.compile(r"^(```.*?^```)$", re.MULTILINE | re.DOTALL)
"""A block of code."""

PICTURES = {".gif", ".jpg", ".png", ".svg", ".webp"}


def build(repository, tag=None):
    """Build both archives of the last commit, and check them as PyPI does.

    Args:
        repository: Its address.
        tag: The tag of the release, which names the version. A rehearsal has none.
    """
    revision = tag
    if revision is None:
        revision = run("git", "rev-parse", "HEAD", cwd=ROOT).strip()
    shutil.rmtree(DIST, ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "source"
        unpack_commit(source)
        add_addresses(source, repository, revision)
        run(sys.executable, "-m", "build", "--outdir", DIST, source, cwd=folder)
    run(sys.executable, "-m", "twine", "check", "--strict", *archives(), cwd=DIST)
    found = metadata(archives()[0])
    check_rendered(found.get_payload())
    if tag:
        check_release(tag, found["Version"])


def unpack_commit(folder):
    """Write the files of the last commit: nothing that lies in the work tree by chance gets into a release."""
    archive = folder.with_suffix(".tar")
    run("git", "archive", "--format=tar", f"--output={archive}", "HEAD", cwd=ROOT)
    with tarfile.open(archive) as files:
        files.extractall(folder, filter="data")


def add_addresses(source, repository, revision):
    """Let the README and the metadata of a source tree lead to its repository."""
    readme = source / "README.md"
    text = readme.read_text(encoding="utf-8")
    readme.write_text(absolute(text, repository, revision), encoding="utf-8")
    with (source / "pyproject.toml").open("a", encoding="utf-8") as project:
        project.write(
            "\n[project.urls]\n"
            f'Repository = "{repository}"\n'
            f'Documentation = "{repository}/blob/{revision}/docs/index.md"\n'
            f'Changelog = "{repository}/blob/{revision}/CHANGELOG.md"\n'
            f'Issues = "{repository}/issues"\n'
        )


def absolute(text, repository, revision):
    """Return Markdown in which links and pictures that name files of the repository are addresses."""

    def address(found):
        before, name = found.groups()
        path = Path(name.partition("#")[0])
        view = "blob"
        if path.suffix in PICTURES:
            view = "raw"
        return f"{before}{repository}/{view}/{revision}/{name}"

    parts = FENCED.split(text)
    # The blocks of code are every second part, and stay as they are.
    for number in range(0, len(parts), 2):
        parts[number] = LINK.sub(address, parts[number])
    return "".join(parts)


def archives():
    """Return the paths of the wheel and the sdist."""
    [wheel] = DIST.glob("*.whl")
    [sdist] = DIST.glob("*.tar.gz")
    return wheel, sdist


def check_rendered(readme):
    """Check that the README, as PyPI renders it, has no link or picture that leads nowhere there."""
    # Of the environment of releases alone.
    from readme_renderer.markdown import render

    html = render(readme)
    assert html, "PyPI cannot render README.md"
    page = BUILD / "readme.html"
    page.write_text(html, encoding="utf-8")
    targets = re.findall(r'(?:href|src)="([^"]*)"', html)
    relative = [target for target in targets if not target.startswith(("https://", "http://", "#"))]
    assert relative == [], f"links of README.md lead nowhere on PyPI: {relative}"
    print(f"{len(targets)} links and pictures of README.md are addresses; look at them in {page.relative_to(ROOT)}")


def metadata(wheel):
    """Return what a wheel says of itself: its fields by name, and the README as payload."""
    with zipfile.ZipFile(wheel) as files:
        [name] = [name for name in files.namelist() if name.endswith(".dist-info/METADATA")]
        return email.message_from_string(files.read(name).decode())


def check_release(tag, version):
    """Check that the tag, the change logs and the README are those of a release."""
    assert tag == f"v{version}", f"the tag {tag} is not that of the version {version} in {VERSION_FILE}"
    for name in ("CHANGELOG.md", "docs/changelog.md"):
        headings = re.findall(r"^## (\S+)", (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE)
        assert version in headings, f"{name} has no heading for {version}"
    readme = BY_NAME["README.md"].text
    assert f"pip install {PACKAGE}" in readme, "README.md installs from a clone, but PyPI's readers have none"


def try_archives():
    """Install each archive into a new environment, and do there what the README shows."""
    for archive in archives():
        with tempfile.TemporaryDirectory() as folder:
            try_archive(archive, Path(folder))
        print(f"{archive.name} works in an environment of its own, with Python {sys.version.split()[0]}")


def try_archive(archive, folder):
    environment = folder / "environment"
    venv.create(environment, with_pip=True)
    python = environment / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", archive, cwd=folder)
    example, output = first_example()
    said = run(python, "-c", example, cwd=folder)
    assert said == output, f"the example of README.md says:\n{said}"
    command = environment / "bin" / PACKAGE
    version = metadata(archives()[0])["Version"]
    said = run(command, "--version", cwd=folder)
    assert said.startswith(f"{PACKAGE} {version}\n"), f"the version is {version}, and the command says {said}"
    run(command, "demo", "--games", "2", cwd=folder)
    run(command, "init", "my-agent", cwd=folder)


def first_example():
    """Return the README's first block of Python, and the output below it."""
    blocks = BY_NAME["README.md"].blocks
    languages = [block.language for block in blocks]
    place = languages.index("python")
    assert languages[place + 1] == "text", "README.md shows no output below its first example"
    return blocks[place].text, blocks[place + 1].text


def run(*command, cwd):
    """Run a command that sees nothing of the repository, and return its output."""
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(command, cwd=cwd, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{shlex.join(map(str, command))} ended with {done.returncode}\n{done.stdout}")
    return done.stdout


if __name__ == "__main__":
    task, *arguments = sys.argv[1:]
    {"build": build, "try": try_archives}[task](*arguments)
