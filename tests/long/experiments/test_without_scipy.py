import json
import subprocess
import sys
from pathlib import Path

from tests.support.run_folders import folder, row

PROGRAM = (
    "import sys; sys.modules['scipy'] = sys.modules['matplotlib'] = None\n"
    "from langgraph_reflexion.cli import main; main()"
)


def command(*args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", PROGRAM, *args], capture_output=True, text=True, timeout=60)


def test_without_the_extra_the_report_names_it(tmp_path: Path) -> None:
    runs = [
        str(folder(tmp_path / strategy, [row("a", 1, solved)], ["a"], max_trials=1, strategy=strategy))
        for strategy, solved in (("reflexion", True), ("retry", False))
    ]
    done = command("report", *runs)
    assert (done.returncode, done.stderr) == (0, "")
    assert "A reflexion is ahead at equal trials and tokens." in done.stdout
    assert "pip install 'langgraph-reflexion[bench]', in a clone '.[bench]'" in done.stdout
    (head,) = [line for line in done.stdout.splitlines() if "solved alone" in line]
    assert head.split()[-2:] == ["solved", "alone"], "no column p without the test"
    (pair,) = json.loads(command("report", *runs, "--json").stdout)["pairs"]
    assert (pair["equal_trials"]["only"], pair["equal_trials"]["p"]) == ([1, 0], None)
    done = command("report", *runs, "--figures", str(tmp_path / "figures"))
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "langgraph-reflexion[bench]" in done.stderr
    done = command("run", "alfworld", "--limit", "1", "--max-trials", "1", "--out", str(tmp_path / "run"))
    assert done.returncode == 0
    assert "langgraph-reflexion[bench]" not in done.stdout, "only the report names it"
