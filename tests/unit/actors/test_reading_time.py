from time import thread_time

import pytest

from tests.support.endless import endless, reader

SECONDS = 0.1
"""CPU seconds that a reader may take."""

SLOW = {
    "thought": ["\n"],
    "tests in python": ["```a", "assert f(1\n", "assert (\n"],
    "tests in rust": ["assert_eq!(", "/*", 'r#"', "assert!('"],
    "programming code": ["~", "```a"],
    "workspace react": ["edit_file[a]\n<<<<<<< SEARCH\n=======\n"],
    "alfworld react": ["\n", "> ", "think["],
    "call": ["\\"],
}


def once(read, text):
    began = thread_time()
    read(text)
    return thread_time() - began


def seconds(read, text):
    """CPU time; of two readings the quicker one, as other processes share the caches."""
    return taken if (taken := once(read, text)) < SECONDS else min(taken, once(read, text))


@pytest.mark.parametrize("name", SLOW)
def test_an_endless_reply_is_read_quickly(name):
    read = reader(name)
    for unit in SLOW[name]:
        assert seconds(read, endless(unit)) < SECONDS
        assert seconds(read, endless(unit, tail="`", length=19_000)) < SECONDS
