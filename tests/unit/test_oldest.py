import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def versions(lines, operator):
    """Package to version, without trailing zeros: 4.3 is 4.3.0."""
    found = {}
    for line in lines:
        matched = re.fullmatch(rf"([a-z0-9-]+){operator}([0-9.]+)", line)
        assert matched, f"{line!r} is not a package, {operator} and a version"
        found[matched[1]] = tuple(int(part) for part in re.sub(r"(\.0)+$", "", matched[2]).split("."))
    return found


def test_every_floor_is_the_version_that_is_tested():
    floors = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    lines = (ROOT / "tests" / "oldest.txt").read_text().splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert versions(pins, "==") == versions(floors, ">=")
