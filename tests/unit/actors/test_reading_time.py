"""No reply keeps the process busy: the readers of model output are quick with those that were slow."""

from time import thread_time

import pytest

from tests.support.endless import endless, reader

SLOW = {
    "thought": ["\n"],
    "tests in python": ["```a", "assert f(1\n", "assert (\n"],
    "tests in rust": ["assert_eq!(", "/*", 'r#"', "assert!('"],
    "programming code": ["~", "```a"],
    "workspace react": ["edit_file[a]\n<<<<<<< SEARCH\n=======\n"],
    "alfworld react": ["\n", "> ", "think["],
    "call": ["\\"],
}


def seconds(read, text):
    began = thread_time()
    read(text)
    return thread_time() - began


@pytest.mark.parametrize("name", SLOW)
def test_an_endless_reply_is_read_quickly(name):
    read = reader(name)
    for unit in SLOW[name]:
        for text in (endless(unit), endless(unit, tail="`", length=19_000)):
            # CPU time; a second reading, as other processes share the caches.
            assert seconds(read, text) < 0.1 or seconds(read, text) < 0.1
