"""Python objects by name: `package.module:name`, or `file.py:name` relative to the working directory."""

import hashlib
import importlib
import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from langgraph_reflexion.errors import ConfigurationError, ReflexionError, did_you_mean
from langgraph_reflexion.support.text import one_line

_OBJECT = re.compile(r"(?P<module>.+\.py|\w+(?:\.\w+)*):(?P<name>[^\W\d]\w*(?:\.[^\W\d]\w*)*)")


def names_object(text: str) -> bool:
    """Return whether a text has the form of an object's name."""
    return _OBJECT.fullmatch(text) is not None


def file_named(name: str) -> Path | None:
    """Return the file that a name of the form `file.py:name` begins with; None for any other name."""
    match = _OBJECT.fullmatch(name)
    if match is None or not match["module"].endswith(".py"):
        return None
    return Path(match["module"]).expanduser()


def load_object(name: str, what: str) -> Any:
    """Import a module or run a file once per process, and return one of its objects.

    Modules that a file imports must be importable, for example from the working directory of the command line.

    Args:
        name: `package.module:name` or `file.py:name`.
        what: What the object is for, such as "the evaluator", for errors.

    Raises:
        ConfigurationError: there is no such file, module or object, or the code fails; its exception is the cause.
    """
    match = _OBJECT.fullmatch(name)
    if match is None:
        raise ConfigurationError(f"{what} {name!r}: name it as FILE.py:NAME or package.module:NAME")
    try:
        found: Any = _module(match["module"], f"{what} {name!r}")
    except ReflexionError:
        raise
    # The code may be anybody's, and may even call sys.exit().
    except (Exception, SystemExit) as error:
        said = f"cannot load {what} {name!r}: {one_line(error)}"
        if isinstance(error, ImportError) and "/" in match["module"]:
            said += " (files import from the working directory; those of a package are named PACKAGE.MODULE:NAME)"
        raise ConfigurationError(said) from error
    for part in match["name"].split("."):
        if not hasattr(found, part):
            hint = ""
            if hasattr(found, "__dict__"):
                hint = did_you_mean(part, vars(found))
            raise ConfigurationError(f"cannot load {what} {name!r}: {match['module']} has no {part!r}{hint}")
        found = getattr(found, part)
    return found


def _module(name: str, what: str) -> ModuleType:
    if not name.endswith(".py"):
        return importlib.import_module(name)
    file = Path(name).expanduser().resolve()
    if not file.is_file():
        raise ConfigurationError(f"cannot load {what}: there is no file {file}")
    # Other files of the user import this one by its name, and must find the same module.
    mark = hashlib.blake2b(str(file).encode("utf-8", "replace"), digest_size=4).hexdigest()
    for known in (file.stem, f"{file.stem}_{mark}"):
        module = sys.modules.get(known)
        if module is None:
            return _run(file, known)
        known_file = getattr(module, "__file__", None) or ""
        if Path(known_file).resolve() == file:
            return module
    raise ConfigurationError(f"cannot load {what}: another module is called {known}")


def _run(file: Path, name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
