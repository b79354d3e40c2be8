"""The page on the sandbox says what the table of hostile programs says, which `long/sandbox/test_table.py` runs."""

from pathlib import Path

from tests.support.sandbox.probes import HOSTILE, contained, table, through_table

DOCS = Path(__file__).parents[3] / "docs"
PAGE = (DOCS / "sandbox.md").read_text(encoding="utf-8")


def rows_of(page, head):
    """Return the first cells of the table with this head."""
    lines = page[page.index(head) :].partition("\n\n")[0].splitlines()
    return [line.split(" | ")[0].removeprefix("| ") for line in lines[2:]]


def test_page_contains_the_tables():
    assert table() in PAGE
    assert through_table() in PAGE
    assert f"run {len(HOSTILE)} hostile programs" in PAGE


def test_page_names_what_gets_through_and_nothing_else():
    through = [each.name for each in HOSTILE if each.lets_through]
    assert rows_of(PAGE, "| what gets through | where |") == through
    marked = [line.split(" | ")[0].removeprefix("| ") for line in PAGE.splitlines() if "**gets through**" in line]
    assert marked == through


def test_what_gets_through_has_evidence_and_nothing_else_has():
    assert [each.name for each in HOSTILE if bool(each.evidence) != bool(each.lets_through)] == []


def test_little_gets_through_bubblewrap():
    through = {each.name for each in HOSTILE for user in ("root", "user") if not contained(each, "bubblewrap", user)}
    assert through == {
        *("100 MB in the buffers of sockets", "locking a host file that it may read"),
        *("reading the kernel's command line", "20,000 inotify watches"),
    }
    assert len({hostile.name for hostile in HOSTILE}) == len(HOSTILE) > 40


def test_security_page_leads_to_the_table():
    security = (DOCS / "howto" / "security.md").read_text(encoding="utf-8")
    assert "../sandbox.md#what-each-backend-contains" in security
