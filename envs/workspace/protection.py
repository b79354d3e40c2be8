"""The files that decide the verdict, and are restored before each verification."""

import posixpath
import re
from collections.abc import Callable, Iterable

TESTS = (
    *("test", "tests", "Tests", "*.Tests", "__tests__", "spec", "specs", "testdata", "__snapshots__", "__mocks__"),
    *("test_*.*", "test-*.*", "test.*", "tests.*", "*_test.*", "*-test.*", "*.test.*", "*.spec.*", "*_spec.*"),
    "conftest.py",
)
CONFIGURATION = (
    *("pyproject.toml", "setup.py", "setup.cfg", "tox.ini", "tox.toml", "noxfile.py", ".coveragerc"),
    *("pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml"),
    *("mypy.ini", ".mypy.ini", "ruff.toml", ".ruff.toml", ".flake8", ".pylintrc", "pylintrc", "pyrightconfig.json"),
    *("package.json", ".npmrc", ".yarnrc*", ".pnpmfile.cjs", ".mocharc*", ".eslintrc*", "eslint.config.*"),
    *("tsconfig*.json", "jsconfig.json", "babel.config.*", ".babelrc*", ".swcrc", ".prettierrc*", "biome.json*"),
    *(
        "jest.config.*",
        "jest.setup.*",
        "vitest.*.*",
        "vite.config.*",
        "karma.conf.*",
        "playwright.config.*",
        ".c8rc*",
    ),
    *("ava.config.*", ".nycrc*", ".taprc", ".stylelintrc*", "deno.json*", "bunfig.toml"),
    *("Cargo.toml", ".cargo", "build.rs", "rust-toolchain*", "clippy.toml", ".clippy.toml", "rustfmt.toml"),
    *("go.mod", "go.work", ".golangci.*", "CMakeLists.txt"),
    *("Makefile", "makefile", "GNUmakefile", "*.mk", "justfile", "Justfile", "Rakefile"),
    *("pom.xml", "build.gradle*", "settings.gradle*", "Gemfile", ".rspec", "composer.json", "phpunit.xml*"),
    # Linters leave out what these name.
    *(".gitignore", ".ignore", ".eslintignore", ".prettierignore", ".gitattributes", ".editorconfig"),
)
LOCKS = (
    *("*.lock", "*.lockb", "package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "go.sum"),
    "requirements*.txt",
)
CI = (
    *(".github", ".gitlab-ci.yml", ".circleci", ".travis.yml", "azure-pipelines.yml", "Jenkinsfile", ".ci"),
    ".pre-commit-config.yaml",
)
LOADED = (
    *("sitecustomize.py", "usercustomize.py", "*.pth", "*.egg-info", "*.dist-info", "site-packages", "node_modules"),
    *("pytest.py", "_pytest", "pluggy", "unittest.py", ".env", ".envrc"),
    *(".venv", "venv", "pyvenv.cfg"),
)
"""Files that interpreters and test programs load by themselves, or in place of their own modules."""

PROTECTED = (*TESTS, *CONFIGURATION, *LOCKS, *CI, *LOADED)
"""The patterns that are protected unless a task allows them."""

_STARTING = {"env", "exec", "time", "timeout", "nice", "sh", "bash", "dash", "ksh", "zsh", "source", "."} | {
    *("python", "python3", "node", "deno", "bun", "ruby", "perl", "php", "tsx", "ts-node")
}
"""Programs whose next word is the program that they run."""


class Protection:
    """Tells whether a path is protected.

    A pattern without a slash is the name of a file or folder anywhere, one with a slash a path from the workspace's
    root; `*` and `?` match within a name, `**` any folders. A folder matches everything in it.

    Args:
        protect: Patterns besides `PROTECTED`.
        allow: Patterns that the task may change.
        run: Paths that the verification commands run.
    """

    def __init__(self, protect: Iterable[str] = (), allow: Iterable[str] = (), run: Iterable[str] = ()) -> None:
        self._protected = _any([*PROTECTED, *protect])
        self._allowed = _any(allow)
        self._run = set(run)

    def __call__(self, path: str) -> bool:
        return (path in self._run or self._protected(path)) and not self._allowed(path)


def scripts_run(commands: Iterable[str], exists: Callable[[str], bool]) -> list[str]:
    """Return the workspace's files that command lines run, such as `check.sh` in `sh check.sh`.

    Args:
        commands: Command lines.
        exists: Whether a path is a file of the workspace.
    """
    found = []
    for command in commands:
        folder = ""
        for part in re.split(r"&&|\|\|?|;|\n", command):
            words = [word for word in map(_bare, part.split()) if not re.match(r"\w+=|-(?!m$)", word)]
            if words[:1] == ["cd"]:
                folder = posixpath.join(folder, *words[1:])
                continue
            # Some take a time or a number first.
            while words and (posixpath.basename(words[0]) in _STARTING or re.fullmatch(r"[\d.]+[smhd]?", words[0])):
                del words[0]
            paths = words[:1]
            if paths == ["-m"]:
                module = "/".join(words[1:2]).replace(".", "/")
                paths = [f"{module}.py", f"{module}/__main__.py", f"{module}/__init__.py"]
            for path in (posixpath.normpath(posixpath.join(folder, path)) for path in paths):
                if path not in found and exists(path):
                    found.append(path)
    return found


def _bare(word: str) -> str:
    return word.strip("\"'")


def _any(patterns: Iterable[str]) -> Callable[[str], bool]:
    together = "|".join(_regex(pattern) for pattern in patterns)
    matches = re.compile(together or r"(?!)", re.DOTALL).fullmatch
    return lambda path: matches(path) is not None


def _regex(pattern: str) -> str:
    anchored = "/" in pattern.rstrip("/")
    pieces = re.split(r"(\*\*/|\*\*|\*|\?)", pattern.strip("/"))
    meant = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    body = "".join(meant.get(piece, re.escape(piece)) for piece in pieces)
    return f"{'' if anchored else '(?:.*/)?'}{body}(?:/.*)?"
