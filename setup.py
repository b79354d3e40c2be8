"""Maps the top-level folders into the package, and writes down its commit; everything else is in pyproject.toml."""

import subprocess
from pathlib import Path

from setuptools import find_namespace_packages, setup
from setuptools.command.build_py import build_py

PACKAGE = "langgraph_reflexion"
# In src/ there are links to these folders, for type checkers and editors. Nothing is built through them: a clone or
# an archive may have text files in their place.
FOLDERS = {f"{PACKAGE}.{name}": name for name in ("envs", "graph", "nodes", "prompts")}

links = [pattern for package in FOLDERS for pattern in (package, f"{package}.*")]
packages = find_namespace_packages("src", exclude=[*links, "*__pycache__"])
for package, folder in FOLDERS.items():
    inside = find_namespace_packages(folder, exclude=["*__pycache__"])
    packages += [package, *(f"{package}.{name}" for name in inside)]


class BuildWithCommit(build_py):
    """Adds `commit.txt`: runs record the commit, and an installation outside the repository cannot ask git for it."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return
        describe = ["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
        try:
            done = subprocess.run(describe, capture_output=True, text=True, check=True)
        except (OSError, subprocess.CalledProcessError):
            # Neither an unpacked ZIP nor an sdist has a commit.
            return
        Path(self.build_lib, PACKAGE, "commit.txt").write_text(done.stdout, encoding="utf-8")


setup(packages=packages, package_dir={"": "src"} | FOLDERS, cmdclass={"build_py": BuildWithCommit})
