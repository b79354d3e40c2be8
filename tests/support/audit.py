"""What a process opens, calls, starts and imports, seen by an audit hook, while every field is filled with a trap.

Run as a program, because a hook cannot be removed:

    python -m tests.support.audit FOLDER [--all] graph NAME...
    python -m tests.support.audit FOLDER [--all] record RUN
    python -m tests.support.audit FOLDER control

`FOLDER` is an empty folder. It prints JSON: the number of cases, what was seen outside of what is allowed, and how
the cases ended; for graphs a list of these, one for each. By default each field gets one trap, another one than its
neighbour; with `--all` it gets each.
"""

import asyncio
import contextlib
import copy
import io
import json
import os
import site
import socket
import sqlite3
import subprocess
import sys
import sysconfig
import threading
from collections import Counter
from pathlib import Path
from urllib.parse import unquote, urlsplit

ALLOWED = "LANGGRAPH_REFLEXION_BASE_URLS"
ROOT = Path(__file__).parents[2]
SECRET = "PRIVATE-KEY-CANARY"
MODULE = "trap_module_of_the_audit"
PROGRAMS = {"git", "bwrap", "chmod", Path(sys.executable).name, "python"}
"""The programs that may be started: those of the workspace and of the sandbox, and its helper."""
REMOVAL = ("sh", "sh", "-c", "{ rm -rf --one-file-system")
"""How the command begins by which the sandbox removes its own folders."""
PATHS = {
    "open": (0,),
    "sqlite3.connect": (0,),
    "os.listdir": (0,),
    "os.scandir": (0,),
    "os.mkdir": (0,),
    "os.rmdir": (0,),
    "os.remove": (0,),
    "os.chmod": (0,),
    "os.chown": (0,),
    "os.truncate": (0,),
    "os.utime": (0,),
    "os.chdir": (0,),
    "os.rename": (0, 1),
    "os.link": (0, 1),
    "os.symlink": (0, 1),
}
"""Events about files, and which of their arguments are paths."""
PAGES = 7
"""A page is written for one case of so many, as it takes long; it is not a divisor of the number of traps."""
CALLS = ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto", "urllib.Request")
STARTS = ("subprocess.Popen", "os.posix_spawn", "os.exec", "os.system", "os.spawn")


class Traps:
    """Things of the host that nothing may touch, and texts that name them."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir(parents=True)
        self.file, self.out = folder / "secret.txt", folder / "written"
        self.file.write_text(SECRET)
        self.mark = folder / "mark"
        (folder / f"{MODULE}.py").write_text(f"open({str(self.mark)!r}, 'w').close()\nenvironment = None\n")
        sys.path.append(str(folder))
        self.connections = 0
        self.server = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._count, daemon=True).start()
        port = self.server.getsockname()[1]
        self.texts = [
            str(self.file),
            "-x",
            f"--output={self.out}",
            "..",
            f"../../../../../../../../../../..{self.file}",
            f"http://127.0.0.1:{port}/v1",
            "http://example.invalid/v1",
            f"{MODULE}:environment",
            f"{folder / MODULE}.py:environment",
            str(folder),
        ]

    def _count(self):
        while True:
            connection, _ = self.server.accept()
            self.connections += 1
            connection.close()

    def sprung(self):
        """What has happened to them."""
        found = []
        if self.file.read_text() != SECRET:
            found.append("the secret was written to")
        if self.out.exists() or self.mark.exists():
            found.append("something was written or imported")
        if self.connections:
            found.append("the server was called")
        return found


class Audit:
    """Lists what is seen outside of `allowed` paths while it is `watching`."""

    def __init__(self, allowed, traps):
        self.allowed = [each for path in allowed for each in (os.path.abspath(path), os.path.realpath(path))]
        self.models = ()
        """The ports of model servers that may be called."""
        self.traps = traps
        self.seen = []
        self.case = None
        """What is tried just now; None while nothing is watched."""
        sys.addaudithook(self._hook)

    def _hook(self, event, args):
        if self.case is None:
            return
        if event in PATHS:
            for at in PATHS[event]:
                if isinstance(args[at], str | bytes | os.PathLike) and not self._is_allowed(os.fsdecode(args[at])):
                    self._note(event, os.fsdecode(args[at]))
        elif event in CALLS:
            if not self._is_model(event, args):
                self._note(event, repr(args[1:])[:200])
        elif event in STARTS:
            words = [os.fsdecode(word) for word in [args[0], *_words(args[1:2])] if isinstance(word, str | bytes)]
            removes = len(words) > 3 and " ".join(words).startswith(" ".join(REMOVAL))
            own = removes or (bool(words) and Path(words[0]).name in PROGRAMS)
            named = set(words) & set(self.traps.texts) or any(str(self.traps.folder) in word for word in words)
            if not own or named:
                self._note(event, repr(words)[:300])
        elif event == "import" and args[0] == MODULE:
            self._note(event, args[0])

    def _is_allowed(self, path):
        if path == ":memory:":
            return True
        if path.startswith("file:"):
            address = urlsplit(path)
            if "mode=memory" in address.query:
                return True
            path = unquote(address.path)
        real = os.path.realpath(path)
        return any(real == each or real.startswith(f"{each}/") for each in self.allowed)

    def _is_model(self, event, args):
        if event == "socket.getaddrinfo":
            return args[0] == "127.0.0.1" and args[1] in self.models
        return event == "socket.connect" and args[1][:2] in [("127.0.0.1", port) for port in self.models]

    def _note(self, event, what):
        case, self.case = self.case, None  # whatever noting does is not watched
        self.seen.append(f"{case}: {event} {what}")
        self.case = case


def _words(given):
    return [word for each in given if isinstance(each, list | tuple) for word in each]


def fields(value, at=()):
    """Yield the path of every text in JSON, and of what could be one: null, and empty lists and objects."""
    if isinstance(value, dict) and value:
        for name, each in value.items():
            yield from fields(each, (*at, name))
    elif isinstance(value, list) and value:
        for number, each in enumerate(value):
            yield from fields(each, (*at, number))
    elif value is None or isinstance(value, str | list | dict):
        yield at


def filled(value, at, text):
    """Return a copy of JSON with another text at a path: a list of it for a list, an object with it for an object."""
    made = copy.deepcopy(value)
    inside = made
    for step in at[:-1]:
        inside = inside[step]
    before = inside[at[-1]]
    inside[at[-1]] = [text] if before == [] else {text: text} if before == {} else text
    return made


def cases(value, texts, every):
    """Yield every field with a trap in it: where it is, the trap, and the whole."""
    for number, at in enumerate(fields(value)):
        for text in texts if every else [texts[number % len(texts)]]:
            yield "/".join(map(str, at)), text, filled(value, at, text)


def allowed_paths(store):
    """What the process may open: code and its data, programs for the sandbox, what every program reads, the store."""
    code = {sys.prefix, sys.base_prefix, sysconfig.get_path("stdlib"), *site.getsitepackages()}
    package = [ROOT / name for name in ("src", "graph", "nodes", "envs", "prompts", "tests")]
    system = ["/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/dev", "/proc/self", "/proc/meminfo", "/sys"]
    system += [folder for folder in os.environ.get("PATH", "").split(os.pathsep) if os.path.isabs(folder)]
    return [*code, *package, *system, store]


class Served:
    """The cases of a served graph: inputs, settings, and a thread's state that was edited."""

    def __init__(self, name, audit, every, server):
        from langgraph_reflexion.lab.studio import SERVED

        self.factory, self.audit, self.every = SERVED[name], audit, every
        # As whoever starts a server lists one that serves models.
        os.environ |= {ALLOWED: server.url, "OPENAI_API_KEY": "any"}
        audit.models = (urlsplit(server.url).port,)
        self.model = {"model": "openai:small", "base_url": server.url}
        self.few = {**self.model, "max_trials": 2, "max_actions": 2}
        # An action does most of what a trial does; with every trap, the trial is evaluated, and the next one begins.
        self.stops = {} if every else {"interrupt_after": ["observe"]}
        self.ended = Counter()

    async def run(self, case, settings, change, given, config):
        """Carry out a run of a server: its graph is built for it, and closed. Returns what clients see."""
        from langgraph.checkpoint.memory import InMemorySaver

        from langgraph_reflexion.errors import validated

        self.audit.case = case
        outcome, words = "ended", ""
        try:
            async with self.factory.graph(validated(self.factory.form, settings, "setting")) as served:
                graph = served.builder.compile(checkpointer=InMemorySaver())
                if change is not None:
                    await graph.aupdate_state(config, change, as_node="act")
                words = str(await graph.ainvoke(given, config, **self.stops))
        except Exception as error:
            outcome, words = type(error).__name__, str(error)
        self.audit.case = None
        self.ended[outcome] += 1
        if SECRET in words:
            self.audit.seen.append(f"{case}: the secret is told")

    async def all(self):
        texts, config = self.audit.traps.texts, {"configurable": {"thread_id": "1"}, "recursion_limit": 60}
        state = await self._state()
        form = self.factory.form(**self.few).model_dump(mode="json")
        async with self.factory.graph(self.factory.form(**self.model)) as graph:
            known = graph.get_input_jsonschema()["properties"]
        asked = {name: field.get("default") for name, field in known.items()}
        asked["messages"] = [{"role": "user", "content": "?"}]
        task = {"task": {key: value for key, value in state["task"].items() if key not in ("after", "prepared")}}
        for kind, value in (("input", asked), ("task", task)):
            for at, text, whole in cases(value, texts, self.every):
                given = {key: each for key, each in whole.items() if value[key] != each or key == "task"}
                await self.run(f"{kind} {at}={text}", self.few, None, given, config)
        for at, text, whole in cases(form, texts, self.every):
            await self.run(f"context {at}={text}", whole, None, {}, config)
        for at, text, whole in cases(state, texts, self.every):
            await self.run(f"state {at}={text}", self.few, whole, None, config)

    async def _state(self):
        """The state of a thread in its second trial, before its second action if there is one."""
        from langgraph.checkpoint.memory import InMemorySaver

        config = {"configurable": {"thread_id": "1"}}
        async with self.factory.graph(self.factory.form(**self.model, max_trials=3, max_actions=6)) as served:
            graph = served.builder.compile(checkpointer=InMemorySaver())
            seen = await graph.ainvoke({}, config, interrupt_before=["observe"])
            state = seen
            while (
                seen["status"] == "running" and seen["trial"] <= 2 and not (seen["trial"] == 2 and seen["trajectory"])
            ):
                state = seen = await graph.ainvoke(None, config, interrupt_before=["observe"])
        assert state["trial"] == 2, state["trials"]
        return json.loads(json.dumps(state, default=_plain))


def _plain(value):
    return value.model_dump() if hasattr(value, "model_dump") else str(value)


class Recorded:
    """The cases of a run folder that somebody else has written: its settings, and the rows of its trials."""

    def __init__(self, run, folder, audit, every):
        self.run, self.folder, self.audit, self.every = run, folder, audit, every
        self.ended = Counter()

    def read(self, case, *command):
        from langgraph_reflexion.lab.cli import main

        sys.argv = ["langgraph-reflexion", *map(str, command)]
        self.audit.case = case
        written, outcome = io.StringIO(), 0
        try:
            with contextlib.redirect_stdout(written), contextlib.redirect_stderr(written):
                main()
        except SystemExit as error:
            outcome = error.code
        except Exception as error:
            outcome = type(error).__name__
        self.audit.case = None
        self.ended[str(outcome)] += 1
        if SECRET in written.getvalue():
            self.audit.seen.append(f"{case}: the secret is told")

    def all(self):
        import shutil

        names = ("run.json", "trials.jsonl", "prompts.jsonl")
        texts = {name: (self.run / name).read_text() for name in names}
        # Once without a trap: what is imported for the first time is not part of any case.
        self.read(None, "report", self.run, "--html", self.folder.with_name("page.html"))
        self.read(None, "show", self.run, "1", "--prompt", "1")
        shutil.copytree(self.run, self.folder)
        number = 0
        for name, text in texts.items():
            rows = [json.loads(line) for line in text.splitlines()] if name.endswith("l") else [json.loads(text)]
            for at, trap, whole in cases(rows, self.audit.traps.texts, self.every):
                (self.folder / name).write_text("".join(json.dumps(row) + "\n" for row in whole))
                self.look(f"{name} {at}={trap}", number)
                number += 1
            (self.folder / name).write_text(text)

    def look(self, case, number):
        """Read the folder in every way in which its files can be read."""
        if case.startswith("prompts.jsonl"):
            self.read(f"prompt {case}", "show", self.folder, "1", "--prompt", "1")
        else:
            self.read(f"report {case}", "report", self.folder)
            self.read(f"show {case}", "show", self.folder)
            self.read(f"show 1 {case}", "show", self.folder, "1")
        if number % PAGES == 0:
            self.read(f"page {case}", "report", self.folder, "--html", self.folder / "page.html")


def link_to(file):
    """A link in the working directory, which is allowed, to a file elsewhere."""
    link = Path("link")
    link.symlink_to(file)
    return link


def control(audit):
    """Does all that must be seen."""
    traps = audit.traps
    port = traps.server.getsockname()[1]
    for number, forbidden in enumerate(
        (
            lambda: traps.file.read_text(),
            lambda: socket.create_connection(("127.0.0.1", port)).close(),
            lambda: subprocess.run(["true"], check=True),
            lambda: subprocess.run(["git", "--version", str(traps.file)], capture_output=True, check=False),
            lambda: os.system("true"),
            lambda: __import__(MODULE),
            lambda: os.listdir(traps.folder),
            lambda: sqlite3.connect(f"file:{traps.file}?mode=ro", uri=True).close(),
            lambda: link_to(traps.file).read_text(),
        )
    ):
        audit.case = str(number)
        forbidden()
        audit.case = None


def main():
    place, *rest = sys.argv[1:]
    every, rest = "--all" in rest, [word for word in rest if word != "--all"]
    folder = Path(place).absolute()
    store = folder / "store"
    (store / "tmp").mkdir(parents=True)
    os.environ |= {name: str(store) for name in ("XDG_CACHE_HOME", "ALFWORLD_DATA", "MPLCONFIGDIR", "HOME")}
    os.environ["TMPDIR"] = str(store / "tmp")
    os.chdir(store)
    traps = Traps(folder / "outside")
    audit = Audit(allowed_paths(store), traps)

    def found(ended):
        """What was found so far, since the last time for what was seen."""
        seen, audit.seen = audit.seen, []
        return {"cases": sum(ended.values()), "ended": ended, "seen": seen, "sprung": traps.sprung()}

    match rest:
        case ["graph", *names]:
            from tests.support.model_server import ModelServer
            from tests.support.scripts import SmallModel

            graphs = []
            with ModelServer(SmallModel()) as server:
                for name in names:
                    served = Served(name, audit, every, server)
                    asyncio.run(served.all())
                    graphs.append(found(served.ended))
            print(json.dumps(graphs))
        case ["record", run]:
            recorded = Recorded(Path(run), store / "run", audit, every)
            recorded.all()
            print(json.dumps(found(recorded.ended)))
        case ["control"]:
            control(audit)
            print(json.dumps(found({})))


if __name__ == "__main__":
    main()
