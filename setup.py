"""Maps the top-level folders into the package; everything else is in pyproject.toml."""

from setuptools import find_namespace_packages, setup

PACKAGE = "langgraph_reflexion"
# In src/ there are links to these folders, for type checkers and editors. Nothing is built through them: a clone or
# an archive may have text files in their place.
FOLDERS = {f"{PACKAGE}.{name}": name for name in ("envs", "graph", "nodes", "prompts")}

links = [pattern for package in FOLDERS for pattern in (package, f"{package}.*")]
packages = find_namespace_packages("src", exclude=[*links, "*__pycache__"])
for package, folder in FOLDERS.items():
    inside = find_namespace_packages(folder, exclude=["*__pycache__"])
    packages += [package, *(f"{package}.{name}" for name in inside)]

setup(packages=packages, package_dir={"": "src"} | FOLDERS)
