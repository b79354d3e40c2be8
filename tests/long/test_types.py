import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

SCRIPT = """
from langgraph_reflexion import Memory, connect, create_reflexion

graph = create_reflexion("demo", "alfworld", strategy="last_attempt", feedback="words", memory=2)
create_reflexion("demo", "alfworld", strategy="reflection")
create_reflexion("demo", "alfworld", feedback="wordy")
create_reflexion("demo", "alfworld", memory=Memory(keep="summarised"))
create_reflexion("demo", "alfworld", max_trials="4")
create_reflexion("demo", "alfworld", retries=3)
connect(graph, graph.loop, "reflecion")
"""


def test_mypy_finds_a_misspelt_setting(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary"]
    # In the repository, where `make lint` has left a cache.
    done = subprocess.run([*command, str(script)], cwd=ROOT, capture_output=True, text=True, check=False)
    found = [line for line in done.stdout.splitlines() if ": error: " in line]
    assert [int(line.split(":")[1]) for line in found] == [5, 6, 7, 8, 9, 10], done.stdout
    for line, word in zip(found, ["strategy", "feedback", "keep", "max_trials", "retries", "connect"], strict=True):
        assert word in line
