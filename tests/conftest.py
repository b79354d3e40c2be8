import gc
import re
from collections import Counter

import pytest

from tests.support.tools import commands, need, need_extra


def pytest_runtest_setup(item):
    for mark in item.iter_markers("needs"):
        need(*mark.args)
    for mark in item.iter_markers("extra"):
        need_extra(*mark.args)


def pytest_collection_finish():
    # What has been imported by now stays in memory. Without this, the garbage collector looks through it again and
    # again, which is a tenth of the tests' time.
    gc.freeze()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session):
    """Say below the counts which tools were missing, and what brings them in."""
    yield
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None:
        return
    reasons = [str(report.longrepr[2]) for report in reporter.stats.get("skipped", []) if report.longrepr]
    left_out = Counter(found[1] for reason in reasons if (found := re.match(r"Skipped: needs ([^:]+): ", reason)))
    listed = ", ".join(f"{tool} {left_out[tool]}" for tool in commands() if left_out[tool])
    if listed:
        reporter.write_line(f"{left_out.total()} tests were skipped for lack of tools: {listed}.", yellow=True)
        reporter.write_line("To install these: tests/install-tools (as root; otherwise it lists them).", yellow=True)
