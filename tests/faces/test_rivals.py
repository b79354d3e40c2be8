"""The rivals against a scripted model: what is counted, what is allowed, and who judges.

Rivals whose package is missing are skipped; benchmarks/rivals/requirements.txt has all of them.
"""

import json

import httpx
import pytest

from benchmarks.rivals.faults import HARMLESS, table
from benchmarks.rivals.protocol import WHERE, Job, Model, load_rival, load_world
from benchmarks.rivals.run import TRAINING, Rows, Settings, play, solve, train
from benchmarks.rivals.scripted import ScriptedServer
from benchmarks.rivals.wire import way_to
from tests.support.loopback import Answer, Listener
from tests.support.tools import need

PACKAGES = {"rubric-middleware": "deepagents", "refine": "dspy", "gepa": "gepa", "gepa-retry": "gepa"}
PACKAGES |= {"goal-loop": "strands", "goal-loop-afresh": "strands"}
"""The modules without which a rival cannot run."""

TRAINED = {"gepa": {}, "gepa-retry": {"prompt": "Do the task."}}
"""What those have learned that train."""

TRIES_AGAIN = [name for name in WHERE if name != "gepa"]
TOLD = [name for name in TRIES_AGAIN if name not in ("retry-loop", "this-retry", "gepa-retry")]
"""Those that tell the next attempt, or the model that writes to it, what the check has said."""

pytestmark = [
    pytest.mark.slow,
    # RubricMiddleware is in beta, and the packages' clients leave sockets and loops to the collector of garbage.
    pytest.mark.filterwarnings("ignore"),
]


def rival(name):
    if name in PACKAGES:
        pytest.importorskip(PACKAGES[name], reason=f"{name} needs a package of benchmarks/rivals/requirements.txt")
    return load_rival(name)


def settings(server, **more):
    return Settings(server.url, Model(server.url), **more)


def first(world):
    return world.tasks("test")[0]


@pytest.mark.parametrize("name", TRIES_AGAIN)
def test_a_rival_tries_again_until_the_check_accepts_and_every_request_is_counted(name):
    playing, world = rival(name), load_world("sql-changes")
    with ScriptedServer(world, wrong=HARMLESS) as server:
        row = solve(playing, world, first(world), settings(server), TRAINED.get(name, {}))
    assert (row["solved"], row["ended"]) == (True, "returned")
    assert [check["accepted"] for check in row["checks"]] == [False, True]
    assert row["checks"][0]["words"] == "wanted: (6, 'Fay', 'Ulm', 30, 1) in members / got: (6, 'Fay', 'Jena', 30, 1)"
    assert row["requests"] == row["calls"] == len(server.bodies)
    assert row["without_usage"] == 0


@pytest.mark.parametrize("name", TOLD)
def test_what_the_check_said_reaches_the_model(name):
    playing, world = rival(name), load_world("sql-changes")
    with ScriptedServer(world, wrong=HARMLESS) as server:
        row = solve(playing, world, first(world), settings(server), {})
    # In the bodies it may stand in JSON within JSON, but without double quotes.
    told = [body for body in server.bodies if row["checks"][0]["words"] in json.dumps(body["messages"])]
    assert told


@pytest.mark.parametrize("name", TRIES_AGAIN)
def test_an_attempt_that_comes_to_no_end_leaves_calls_for_the_next_one(name):
    playing, world = rival(name), load_world("sql-changes")
    with ScriptedServer(world, wrong=HARMLESS, endless=True) as server:
        row = solve(playing, world, first(world), settings(server), TRAINED.get(name, {}))
    assert (row["solved"], row["ended"]) == (True, "returned")
    assert [check["accepted"] for check in row["checks"]] == [False, True]


@pytest.mark.parametrize("name", [name for name in TRIES_AGAIN if name != "ralph-loop"])
def test_a_reply_that_is_cut_off_is_a_failed_attempt(name):
    playing, world = rival(name), load_world("small-tasks")
    with ScriptedServer(world, cut_off=True) as server:
        row = solve(playing, world, first(world), settings(server), TRAINED.get(name, {}))
    assert (row["solved"], row["ended"]) == (True, "returned")
    assert [check["accepted"] for check in row["checks"]] == [False, True]


@pytest.mark.parametrize("name", TRIES_AGAIN)
def test_all_replies_have_a_limit_under_the_same_name(name):
    playing, world = rival(name), load_world("sql-changes")
    with ScriptedServer(world, wrong=HARMLESS) as server:
        solve(playing, world, first(world), settings(server), TRAINED.get(name, {}))
    limits = {body["max_tokens"] for body in server.bodies}
    assert limits <= {Model.max_tokens, Model.long_tokens}


@pytest.mark.parametrize("name", TRIES_AGAIN)
def test_no_call_is_made_above_the_limit(name):
    playing, world = rival(name), load_world("sql-changes")
    with ScriptedServer(world, errs=99) as server:
        row = solve(playing, world, first(world), settings(server, calls=5), TRAINED.get(name, {}))
    assert (row["solved"], row["ended"]) == (False, "calls used up")
    assert row["calls"] == len(server.bodies) == 5
    assert row["refused"] == row["requests"] - 5 >= 1


@pytest.mark.parametrize("name", TRIES_AGAIN)
def test_what_is_done_when_the_calls_are_used_up_counts(name):
    playing, world = rival(name), load_world("sql-changes")
    with ScriptedServer(world, errs=0) as server:
        row = solve(playing, world, first(world), settings(server, calls=2), TRAINED.get(name, {}))
    # Two calls are enough for some to end; others are refused the next one, and Refine resets the world then.
    assert row["solved"]
    assert row["calls"] == 2


@pytest.mark.parametrize("name", TRIES_AGAIN)
def test_a_wrong_change_is_undone_by_those_that_begin_afresh(name):
    playing, world = rival(name), load_world("sql-changes")
    with ScriptedServer(world) as server:
        row = solve(playing, world, first(world), settings(server, calls=12), TRAINED.get(name, {}))
    assert row["solved"] is not playing.in_place


@pytest.mark.parametrize("name", [name for name in TRIES_AGAIN if name != "ralph-loop"])
def test_a_rival_answers_without_tools(name):
    playing, world = rival(name), load_world("small-tasks")
    with ScriptedServer(world) as server:
        row = solve(playing, world, first(world), settings(server), TRAINED.get(name, {}))
    assert row["solved"]
    assert [check["accepted"] for check in row["checks"]] == [False, True]
    assert row["calls"] == len(server.bodies)


def test_gepa_trains_within_its_calls_and_answers_once():
    playing, world = rival("gepa"), load_world("small-tasks")
    with ScriptedServer(world) as server:
        row = train(playing, world, settings(server, tasks=8))
        trained_with = len(server.bodies)
        answered = solve(playing, world, first(world), settings(server), row["trained"])
    assert row["ended"] == "returned"
    assert row["requests"] == row["calls"] == trained_with <= 48
    assert row["trained"]["prompt"]
    assert (answered["calls"], len(answered["checks"])) == (1, 1)


def test_gepa_uses_its_calls_where_attempts_need_fewer_than_they_may():
    playing, world = rival("gepa"), load_world("sql-changes")
    with ScriptedServer(world, errs=2) as server:
        row = train(playing, world, settings(server, tasks=6))
    # A round of 9 attempts, of 2 calls each, and of one for the prompt would not fit in any more.
    assert 60 - 19 <= row["calls"] <= 60
    assert row["refused"] == 0
    [asked, *_] = [body for body in server.bodies if "within ```" in json.dumps(body["messages"])]
    assert (asked["max_tokens"], asked["temperature"]) == (Model.long_tokens, 1.0)
    assert "DELETE FROM members" in json.dumps(asked["messages"]), "the model that reflects sees what the agent did"


def test_gepa_starts_over_with_its_prompt():
    playing, world = rival("gepa-retry"), load_world("sql-changes")
    with ScriptedServer(world) as server:
        row = solve(playing, world, first(world), settings(server), TRAINED["gepa-retry"])
    assert [check["accepted"] for check in row["checks"]] == [False, True]
    assert all(body["messages"][0] == {"role": "system", "content": "Do the task."} for body in server.bodies)


def test_a_ralph_loop_is_left_out_where_nothing_stays(tmp_path, capsys):
    world = load_world("small-tasks")
    with ScriptedServer(world) as server:
        play("ralph-loop", world, settings(server, tasks=1), Rows(tmp_path))
    assert "left out" in capsys.readouterr().out
    assert server.bodies == []


def test_a_run_that_was_stopped_continues_and_a_repeat_asks_the_model_nothing(tmp_path):
    world = load_world("small-tasks")
    replies = tmp_path / "replies.db"
    with ScriptedServer(world) as server:
        given = settings(server, tasks=2, replies=replies)
        rows = Rows(tmp_path / "first")
        rows.write(
            {"rival": "this-reflexion", "world": "small-tasks", "task": first(world).name, "sample": 1, "calls": 0}
        )
        play("this-reflexion", world, given, rows)
        asked = len(server.bodies)
        play("this-reflexion", world, given, Rows(tmp_path / "again"))
        again = len(server.bodies) - asked
        play("this-reflexion", world, given, Rows(tmp_path / "once-more"))
    assert asked == 3, "one of the two tasks had its row"
    assert again == len(server.bodies) - asked, "the third run found all replies"
    counts = [comparable(tmp_path / name) for name in ("again", "once-more")]
    assert counts[0] == counts[1]


def test_a_server_that_is_gone_stops_the_run_and_is_nobodys_failure(tmp_path):
    world = load_world("small-tasks")
    with ScriptedServer(world) as server:
        given = settings(server, tasks=1, replies=tmp_path / "replies.db")
    with pytest.raises(SystemExit, match=r"does not answer .* run the same command again"):
        play("retry-loop", world, given, Rows(tmp_path / "run"))
    assert not (tmp_path / "run" / "rows.jsonl").exists()


def test_a_refusal_that_was_kept_repeats_without_the_server(tmp_path):
    world = load_world("small-tasks")
    refusing = Listener(0, lambda call: Answer(b'{"error": {"message": "the prompt is too long"}}', 400))
    address = f"{refusing.url}/v1"
    given = Settings(address, Model(address), tasks=1, replies=tmp_path / "replies.db")
    play("retry-loop", world, given, Rows(tmp_path / "first"))
    refusing.close()
    play("retry-loop", world, given, Rows(tmp_path / "again"))
    [row] = comparable(tmp_path / "first")
    assert "the prompt is too long" in row["ended"]
    assert comparable(tmp_path / "again") == [row]


def comparable(folder):
    rows = [json.loads(line) for line in (folder / "rows.jsonl").read_text().splitlines()]
    return [{name: value for name, value in row.items() if name != "seconds"} for row in rows]


def test_a_training_has_a_row_of_its_own(tmp_path):
    rival("gepa")
    world = load_world("small-tasks")
    with ScriptedServer(world) as server:
        play("gepa", world, settings(server, tasks=2), Rows(tmp_path))
    rows = comparable(tmp_path)
    assert [row["task"] == TRAINING for row in rows] == [True, False, False]
    assert sum(row["calls"] for row in rows) == len(server.bodies)


def test_the_verdict_of_pytest_is_that_of_the_folder():
    need("sandbox")
    world = load_world("pytest-folder")
    with ScriptedServer(world) as server:
        row = solve(rival("this-feedback"), world, first(world), settings(server), {})
    assert row["solved"]
    assert row["checks"][0]["words"].startswith("FAILED test_slug.py::test_1")


def test_a_request_that_fails_is_counted_and_a_stream_has_its_tokens():
    world = load_world("small-tasks")
    body = {"model": "any", "messages": [{"role": "user", "content": "hello"}], "stream": True}
    body["stream_options"] = {"include_usage": True}
    with ScriptedServer(world) as server, way_to(server.url, most=2, failing=[1]) as wire:
        answers = [httpx.post(f"{wire.url}/chat/completions", json=body) for _ in range(4)]
    assert [answer.status_code for answer in answers] == [500, 200, 200, 400]
    assert answers[3].json()["error"]["code"] == "calls_used_up"
    assert answers[1].text.startswith("data: ")
    assert '"usage"' in answers[1].text
    row = wire.row()
    assert (row["requests"], row["calls"], row["failed"], row["refused"]) == (4, 2, 1, 1)
    assert row["completion_tokens"] == 20
    assert [body["stream"] for body in server.bodies if "stream" in body] == []


def test_a_bug_in_the_check_is_a_check(tmp_path):
    world = load_world("small-tasks")
    job = Job(world.open(first(world), tmp_path), Model("http://127.0.0.1:1/v1"), 3, 1, bug=True)
    with pytest.raises(KeyError, match="planted"):
        job.check("none")
    assert len(job.checks) == 1


def test_the_table_of_faults_tells_a_bug_that_is_raised_from_one_that_is_taken_for_a_failure():
    end = {"ended": "returned", "solved": True, "checks": 2, "requests": 4, "calls": 4}
    raised = {**end, "ended": "KeyError: 'planted'", "solved": False}
    taken = {**end, "checks": 6, "calls": 12, "solved": False}
    killed = {**end, "began_again": "with its very first call", "requests": 6, "calls": 6}
    rows = [{"undisturbed": end, "failing": end, "killed": killed, "rival": "a", "bug": raised, "trains": False}]
    rows.append({**rows[0], "rival": "b", "bug": taken})
    lines = table(rows)
    assert lines[2] == (
        "| `a` | is raised after 2 checks and 4 calls | solved after 4 requests "
        "| begins with its very first call; solved after 6 requests | 4 and 6 |"
    )
    assert "is not raised: the answer comes after 6 checks and 12 calls" in lines[3]
