"""The command that compares the figures on the pages with the runs of `make demo`."""

import pytest

from tests.docs.demo_figures import CURVES, differences
from tests.support.run_folders import folder, row


@pytest.fixture
def runs(tmp_path):
    rows = [row("a", 1, False), row("a", 2, True), row("b", 1, True)]
    retry = folder(tmp_path / "retry", [row("a", 1, False), row("a", 2, False)], ["a", "b"], strategy="retry")
    return [retry, folder(tmp_path / "reflexion", rows, ["a", "b"], strategy="reflexion")]


def test_each_figure_that_differs_from_the_runs_is_named(runs, tmp_path):
    (tmp_path / "docs").mkdir()
    for page in CURVES:
        (tmp_path / page).write_text("nothing")
    lacking = differences(runs, tmp_path)
    assert "README.md lacks: | `reflexion` | 50% | 100% |" in lacking[1]
    for page in CURVES:
        rows = [line.partition(" lacks: ")[2] for line in lacking if line.startswith(page)]
        (tmp_path / page).write_text("\n".join(rows))
    assert differences(runs, tmp_path) == []
    (tmp_path / "README.md").write_text((tmp_path / "README.md").read_text().replace("100%", "99%"))
    [line] = differences(runs, tmp_path)
    assert line.startswith("README.md lacks: | `reflexion`")
