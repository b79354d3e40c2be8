"""Composes in processes that are killed, for the test of that name.

    python -m tests.support.killed_compositions FOLDER

Each way is run in three lives, each of them a process. The first one is killed while the agent makes its fourth
guess, the second one while the second reflection is written, both by SIGKILL, and the third one comes to the end.
What was called in all of them, and what came out, is printed as JSON. A life is a fork of this process, which has
done the imports.
"""

import json
import os
import signal
import sys
from collections import Counter
from pathlib import Path

from langgraph.checkpoint.sqlite import SqliteSaver

from tests.support.composing import THREAD, Guessing
from tests.support.compositions import WAYS

DEATHS = [("guess", 4), ("reflect", 2), None]
"""In the middle of which call a life ends: the how-manieth of its kind, over all lives."""


def live(name: str, folder: Path, death: tuple[str, int] | None) -> str:
    """Begin, or go on, and give back what came out."""
    log = folder / f"{name}.log"
    goes_on = log.exists()

    def tell(called: str) -> None:
        with log.open("a") as file:
            file.write(f"{called}\n")
        if death == (called, Counter(log.read_text().split())[called]):
            os.kill(os.getpid(), signal.SIGKILL)

    with SqliteSaver.from_conn_string(str(folder / f"{name}.db")) as saver:
        way = WAYS[name](Guessing(tell), saver)
        final = way.graph.invoke(None if goes_on else way.input, THREAD, durability="sync")
    return str(final["answer"] if "answer" in final else final["messages"][-1].text)


def main(folder: Path) -> None:
    """Live all lives of all ways."""
    told = {}
    for name in WAYS:
        answer, exits = folder / f"{name}.answer", []
        for death in DEATHS:
            child = os.fork()
            if not child:
                try:
                    answer.write_text(live(name, folder, death))
                    os._exit(0)
                finally:
                    os._exit(1)
            exits.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        told[name] = {
            "exits": exits,
            "called": (folder / f"{name}.log").read_text().split(),
            "answer": answer.read_text() if answer.exists() else None,
        }
    print(json.dumps(told))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
