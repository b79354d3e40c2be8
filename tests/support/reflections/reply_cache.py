"""A server in front of a model's server that keeps the replies, by prompt and number of occurrence."""

import hashlib
import json
import re
import sqlite3
import threading
from collections import Counter
from pathlib import Path
from typing import Any, Self

import httpx

from tests.support.loopback import Answer, Call, Listener

REFUSED = 400
"""The status of a request that the model's server refuses for what it is."""

SECONDS = 600.0
"""Longest time that the model's server may take for a reply."""


class ReplyKeeper:
    """Answers OpenAI's chat completions from a file, and asks the model's server for what is not in it.

    The n-th request for a prompt gets the n-th reply to it, counted anew by each keeper: another sample within a run,
    and the same one in the next run. Runs with another `label` share nothing.

    Args:
        server: The address of the model's server, which ends in `/v1`.
        file: A SQLite file.
        label: Tells samples apart, such as a seed.
        ignored: A regular expression of what differs between requests for the same prompt, such as a random mark.
    """

    def __init__(self, server: str, file: Path, label: str = "", ignored: str = "") -> None:
        self.server, self.file, self.label, self.ignored = server.rstrip("/"), file, label, ignored
        self.asked, self.found = 0, 0
        self._occurrences: Counter[str] = Counter()
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self._database = sqlite3.connect(self.file, check_same_thread=False)
        self._database.execute(
            "CREATE TABLE IF NOT EXISTS replies(key TEXT PRIMARY KEY, status INT, kind TEXT, body BLOB)"
        )
        self._client = httpx.Client(timeout=SECONDS)
        self._listener = Listener(0, self._answer)
        self.url = f"{self._listener.url}/v1"
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()
        self._client.close()
        self._database.close()

    def _answer(self, call: Call) -> Answer:
        address = self.server + call.path.removeprefix("/v1")
        if call.method != "POST":
            got = self._client.get(address)
            return Answer(got.content, got.status_code)
        # The occurrences are counted in the order of the requests.
        with self._lock:
            key = self._key(call)
            kept = self._kept(key)
            if kept:
                self.found += 1
                status, kind, body = kept
                return Answer(body, status, kind=kind)
            self.asked += 1
        # Several at once, as a server with several slots answers them sooner.
        got = self._client.post(address, content=call.content, headers={"content-type": "application/json"})
        kind = got.headers.get("content-type", "application/json")
        # A refusal, such as of a prompt that is too long for the model, would come again; other trouble passes.
        if got.status_code not in (200, REFUSED):
            return Answer(got.content, got.status_code, kind=kind)
        with self._lock:
            # Another process may have asked for the same reply meanwhile: the first one that is kept is everybody's.
            row = [key, got.status_code, kind, got.content]
            self._database.execute("INSERT OR IGNORE INTO replies VALUES (?, ?, ?, ?)", row)
            self._database.commit()
            status, kind, body = self._kept(key)
        return Answer(body, status, kind=kind)

    def _kept(self, key: str) -> Any:
        """Return the status, kind and body of a reply; None if it is not kept."""
        found = self._database.execute("SELECT status, kind, body FROM replies WHERE key = ?", [key])
        return found.fetchone()

    def _key(self, call: Call) -> str:
        body = json.loads(call.content)
        # A seed is a sample's number, which is what the occurrence counts.
        body.pop("seed", None)
        prompt = json.dumps([self.label, call.path, body], sort_keys=True)
        if self.ignored:
            prompt = re.sub(self.ignored, "", prompt)
        self._occurrences[prompt] += 1
        text = f"{prompt} {self._occurrences[prompt]}"
        return hashlib.sha256(text.encode()).hexdigest()
