"""The command line with tasks that Hugging Face's datasets read: from folders, and by name from a server."""

import json
import re
import shutil
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from tests.support.cli import call, one_line, start

pytestmark = pytest.mark.extra("datasets")

AGENT = "def paris(question: str) -> str:\n    return 'Paris'\n"
ROWS = [
    {"id": name, "question": {"text": f"Capital of {name}?"}, "answers": [capital], "note": None}
    for name, capital in (("France", "Paris"), ("Italy", "Rome"))
]
FIELDS = ("--task-field", "question.text", "--answer-field", "answers")
CHECKED = ("--evaluator", "checks.py:is_among", "--strategy", "retry", "--max-trials", "1", "--out", "run", "--json")


@pytest.fixture
def home(tmp_path):
    (tmp_path / "my_agent.py").write_text(AGENT)
    (tmp_path / "checks.py").write_text("def is_among(result, reference):\n    return result in reference\n")
    return tmp_path


def run(*args):
    return ("run", "my_agent.py:paris", "--tasks", *args, *CHECKED)


def write(folder, kind, rows=ROWS):
    import datasets

    made = datasets.Dataset.from_list(rows)
    folder.mkdir(exist_ok=True)
    if kind == "saved":
        datasets.DatasetDict(train=made.select([0]), test=made).save_to_disk(str(folder))
    for split, part in (("train", made.select([0])), ("test", made)) if kind != "saved" else ():
        getattr(part, f"to_{kind}")(str(folder / f"{split}.{kind}"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "tasks", "split"),
    [("saved", "", "test"), ("parquet", "", "test"), ("json", "", "test"), ("parquet", "/test.parquet", "train")],
)
def test_a_dataset_in_a_folder_is_run_and_resumed_unless_it_has_changed(home, kind, tasks, split):
    write(home / "capitals", kind)
    status, out, _ = call(home, *run(f"capitals{tasks}", *FIELDS, *(("--split", "test") if not tasks else ())))
    assert (status, json.loads(out)["statuses"]["solved"], json.loads(out)["statuses"]["failed"]) == (0, 1, 1)
    settings = json.loads((home / "run" / "run.json").read_text())
    assert (settings["tasks"], settings["settings"]["split"]) == (["France", "Italy"], split)
    assert call(home, "resume", "run", "--json")[0] == 0
    shutil.rmtree(home / "capitals")
    write(home / "capitals", kind, [{**row, "answers": ["Turin"]} for row in ROWS])
    status, _, err = call(home, "resume", "run")
    assert (status, "have changed" in err.splitlines()[-1]) == (2, True)


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("capitals", *FIELDS, "--split", "dev"), "choose one of train, test"),
        (("capitals",), "row 1: there is no 'answer' "),
        (("nowhere/at/all",), "there is no file or folder nowhere/at/all"),
    ],
)
def test_errors(home, args, words):
    write(home / "capitals", "saved")
    asked = [*run(*args), *(["--answer-field", "answer"] if len(args) == 1 else [])]
    status, _, err = call(home, *asked)
    assert (status, words in err) == (2, True), err


@pytest.fixture
def hub():
    """The address of a server that has the dataset `me/capitals` as the Hub has its datasets."""
    data = "".join(json.dumps(row) + "\n" for row in ROWS).encode()
    commit, oid, api = "a" * 40, "b" * 40, "/api/datasets/me/capitals"
    about = {"id": "me/capitals", "sha": commit, "siblings": [{"rfilename": "test.jsonl"}], "tags": []}
    tree = [{"type": "file", "path": "test.jsonl", "size": len(data), "oid": oid}]
    served = {f"{api}(/revision/{commit})?": json.dumps(about).encode(), r".*/test\.jsonl": data}
    served[f"{api}/tree/.*(?<!/data)"] = json.dumps(tree).encode()

    class Hub(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            path, headers = self.path.partition("?")[0], {"X-Repo-Commit": commit, "ETag": f'"{oid}"'}
            body = next((body for pattern, body in served.items() if re.fullmatch(pattern, path)), b"")
            if not body:
                headers["X-Error-Code"] = "EntryNotFound" if "capitals" in path else "RepoNotFound"
            self.send_response(200 if body else 404)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body)

        do_HEAD = do_GET  # noqa: N815

        def log_message(self, *args):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Hub) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.long
@pytest.mark.parametrize(("name", "status"), [("me/capitals", 0), ("me/none", 2)])
def test_a_dataset_of_the_hub_by_name(home, hub, name, status):
    surroundings = {"HF_ENDPOINT": hub, "HF_HOME": str(home / "cache"), "HF_HUB_DISABLE_TELEMETRY": "1"}
    process = start(home, *run(name, *FIELDS), environment=surroundings)
    out, err = process.communicate()
    assert process.returncode == status, err
    assert status == 2 or json.loads(out)["statuses"]["solved"] == 1
    assert status == 0 or "me/none cannot be loaded" in one_line(err)
