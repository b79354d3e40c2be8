"""The command `learn`: lessons from feedback in a file, or in a LangSmith project, which a server stands in for."""

import json
import os
from urllib.parse import parse_qs, urlsplit
from uuid import UUID, uuid4

import pytest

from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.cli import call
from tests.support.loopback import Answer, Listener
from tests.support.model_server import ModelServer

pytestmark = pytest.mark.slow


def reply(messages):
    """Reflect in the words of the person."""
    prompt = messages[-1].text
    for hour in ("five", "six", "seven"):
        if f"closes at {hour}" in prompt:
            return f"I must say that the office closes at {hour}."
    return "I must look the hours up before I say them."


@pytest.fixture
def home(tmp_path):
    return tmp_path


@pytest.fixture
def served():
    with ModelServer(ScriptedChatModel(replies=reply)) as server:
        yield server


def line(hour="five", **changes):
    said = {"question": "When does the office close?", "answer": f"At noon, not at {hour}."}
    return {**said, "success": False, "words": f"The office closes at {hour}.", **changes}


def write(home, *rows):
    written = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    (home / "feedback.jsonl").write_text("\n".join(written) + "\n", encoding="utf-8")


def learn(home, served, *options, source=("feedback.jsonl",), environment=None):
    model = ("--model", "openai:any", "--base-url", served.url, "--retries", "1")
    words = ("learn", *source, "--lessons", "lessons.db", *model, *options)
    return call(home, *words, key="sk-any-key-of-tests", environment=environment)


def texts(home, *options):
    status, out, err = call(home, "lessons", "list", "lessons.db", "--json", *options)
    assert status == 0, err
    return sorted(lesson["text"] for lesson in json.loads(out))


FIVE, SIX = "I must say that the office closes at five.", "I must say that the office closes at six."


def test_each_line_teaches_a_lesson_and_the_same_file_again_asks_no_model(home, served):
    talk = [{"role": "user", "content": "When does it close?"}, {"role": "assistant", "content": "At noon."}]
    write(home, line(), {"messages": talk, "success": False, "words": "The office closes at six.", "column": "more"})
    status, out, err = learn(home, served, "--concurrency", "2")
    assert (status, err) == (0, "")
    assert "2 learned, 0 known already, 0 useless; 2 model calls" in out
    assert texts(home) == [FIVE, SIX]
    status, out, _ = learn(home, served)
    assert (status, out) == (0, "0 learned, 2 known already, 0 useless; 0 model calls\n")


def test_the_summary_as_json(home, served):
    write(home, line())
    status, out, _ = learn(home, served, "--json")
    counted = json.loads(out)
    assert (status, counted["learned"], counted["known"], counted["usage"]["llm_calls"]) == (0, 1, 0, 1)


def test_lessons_wait_for_a_review(home, served):
    write(home, line())
    assert learn(home, served, "--review")[0] == 0
    status, out, err = call(home, "lessons", "pending", "lessons.db", "--json")
    assert status == 0, err
    assert [lesson["text"] for lesson in json.loads(out)] == [FIVE]


def test_the_limit_of_the_lessons_is_an_option(home, served):
    said = ("five", "six", "seven")
    write(home, *[line(hour) for hour in said])
    assert learn(home, served, "--limit", "2")[0] == 0
    status, out, _ = call(home, "lessons", "list", "lessons.db", "--json")
    assert status == 0
    assert sorted(lesson["archived"] for lesson in json.loads(out)) == [False, False, True]


def test_each_user_has_lessons_of_their_own(home, served):
    write(home, line(user={"id": "ann"}), line("six", user={"id": "bob"}))
    assert learn(home, served, "--user-field", "user.id", "--env", "support")[0] == 0
    assert texts(home, "--env", "support", "--user", "ann") == [FIVE]
    assert texts(home, "--env", "support", "--user", "bob") == [SIX]


def test_of_the_same_answer_the_last_line_counts(home, served):
    write(home, line(), line(success=True, words=""), line("five", words="The office closes at five, as I said."))
    status, out, _ = learn(home, served, "--concurrency", "8")
    assert (status, out.startswith("1 learned")) == (0, True)
    assert texts(home) == [f'A person said: "The office closes at five, as I said." {FIVE}']
    # Otherwise the earlier lines were news again.
    assert learn(home, served)[1] == "0 learned, 1 known already, 0 useless; 0 model calls\n"


def test_a_fault_stops_with_one_line_and_the_same_command_continues(home, served):
    write(home, line(), line("six"), line("seven"))

    def down(request):
        """Return the fault of all requests but those for the first line."""
        if "closes at five" in str(request.body):
            return None
        return "503"

    with ModelServer(ScriptedChatModel(replies=reply), faults=down) as broken:
        status, out, err = learn(home, broken)
    assert status == 1
    assert "1 learned" in out
    assert err.count("\n") == 1
    assert "the same command continues" in err
    status, out, _ = learn(home, served)
    assert (status, out.startswith("2 learned, 1 known already")) == (0, True)


DEEP = "[" * 100_000
LARGE = [{"role": "user", "content": "x" * 1_000_001}]
NESTED = json.dumps(line(messages=None)).replace("null", "[" * 60 + "]" * 60).replace('"question"', '"asked"')


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("{", "feedback.jsonl, line 2: not JSON"),
        ('{"messages": ' + DEEP, "line 2: not JSON"),
        (NESTED, "line 2: messages is nested more than 50 levels deep"),
        (3, "line 2: expected a JSON object"),
        ({"question": "When?", "answer": "Now."}, "line 2: success is missing"),
        (line(success="no"), "line 2: success must be a valid boolean, not 'no'"),
        (line(words=3), "line 2: words must be a string, not 3"),
        ({"success": False}, "line 2: the row has messages, or else question and answer"),
        (line(messages=[]), "line 2: the row has messages, or else question and answer"),
        ({"messages": [], "success": False}, "line 2: the conversation has no human message"),
        ({"messages": ["Hi."], "success": False}, "line 2: 'Hi.' is not a message"),
        ({"messages": [{"role": "tool", "content": "x"}], "success": False}, "line 2: the agent's messages cannot"),
        (
            {"messages": [{"role": "assistant", "content": "x", "tool_calls": "x"}], "success": False},
            "line 2: the agent's messages cannot be read",
        ),
        (
            {"messages": [{"role": "user", "content": "x" * 1_000_001}], "success": False},
            "line 2: messages has 1,000",
        ),
        (line(words="\ud800"), None),
        (line(question="\ud800", answer="\ud800", words="At \ud800."), None),
    ],
)
def test_a_wrong_line_is_named_before_anything_is_spent(home, served, row, message):
    write(home, line(), row)
    status, _, err = learn(home, served)
    if message is None:
        # A text that is no Unicode is cleaned as elsewhere.
        assert status == 0
        return
    assert status == 2
    assert message in err
    assert err.count("\n") == 1
    assert len(err) < 400
    assert served.requests == []
    assert not (home / "lessons.db").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "name either a FILE or --langsmith PROJECT"),
        (("feedback.jsonl", "--langsmith", "p", "--since", "2026-11-01"), "name either a FILE"),
        (("--langsmith", "p"), "--since belong together"),
        (("feedback.jsonl", "--since", "2026-11-01"), "--since belong together"),
        (("feedback.jsonl", "--feedback-key", "k"), "--feedback-key belongs to --langsmith"),
        (("feedback.jsonl", "--env", "alfworld"), "this graph plays alfworld"),
        (("feedback.jsonl", "--user-field", "user"), "line 1: there is no 'user' (--user-field)"),
        (("nowhere.jsonl",), "nowhere.jsonl cannot be read"),
        (("pipe",), "is not an ordinary file"),
    ],
)
def test_what_does_not_fit_is_said(home, served, options, message):
    write(home, line())
    os.mkfifo(home / "pipe")
    status, _, err = learn(home, served, source=options)
    assert status == 2
    assert message in err
    assert served.requests == []


def test_a_model_has_to_be_named(home):
    write(home, line())
    status, _, err = call(home, "learn", "feedback.jsonl", "--lessons", "lessons.db")
    assert (status, "--model" in err) == (2, True)


class Project:
    """A server that stands in for LangSmith, with the routes by which the real client reads runs and feedback."""

    def __init__(self):
        self.id = str(uuid4())
        self.runs = []
        self.feedback = []
        self.asked = []
        self.broken = False

    def add(self, inputs, outputs, *given, metadata=None):
        """Add a run, with what people have said of it: pairs of a score and a comment, or more fields."""
        run = str(uuid4())
        row = {"id": run, "trace_id": run, "name": "agent", "run_type": "chain", "session_id": self.id}
        row |= {"start_time": "2026-11-03T10:00:00", "inputs": inputs, "outputs": outputs}
        row |= {"extra": {"metadata": metadata or {}}, "dotted_order": f"20261103T100000000000Z{run}"}
        self.runs.append(row)
        for number, each in enumerate(given):
            at = f"2026-11-04T10:00:0{number}"
            fields = {"id": str(uuid4()), "run_id": run, "trace_id": run, "created_at": at, "modified_at": at}
            self.feedback.append({"key": "user_score", **fields, **each})

    def answer(self, request):
        route = urlsplit(request.path)
        if self.broken:
            return Answer(b'{"detail": "no"}', 500)
        if route.path.endswith("/sessions"):
            named = parse_qs(route.query).get("name") == ["support"]
            session = {"id": self.id, "name": "support", "tenant_id": self.id, "reference_dataset_id": None}
            return Answer(json.dumps([session] if named else []).encode())
        if route.path.endswith("/runs/query"):
            self.asked.append(json.loads(request.content))
            return Answer(json.dumps({"runs": self.runs, "cursors": {}}).encode())
        if route.path.endswith("/feedback"):
            asked = parse_qs(route.query)
            found = [each for each in self.feedback if each["run_id"] in asked["run"]]
            if "key" in asked:
                found = [each for each in found if each["key"] in asked["key"]]
            return Answer(json.dumps(found).encode())
        return Answer(b"{}")


@pytest.fixture
def project():
    return Project()


@pytest.fixture
def langsmith(home, served, project):
    """Runs the command on a project."""
    server = Listener(0, project.answer)
    environment = {"LANGSMITH_ENDPOINT": server.url, "LANGSMITH_API_KEY": "none", "LANGSMITH_TRACING": "false"}

    def run(*options, name="support"):
        source = ("--langsmith", name, "--since", "2026-11-01")
        return learn(home, served, *options, source=source, environment=environment)

    yield run
    server.close()


def human(text):
    return {"type": "human", "content": text}


def test_the_feedback_on_a_projects_runs_is_learned_from(home, project, langsmith):
    wrong = {"score": 0, "comment": "The office closes at five."}
    question, answer = human("When does it close?"), {"type": "ai", "content": "At noon."}
    # A graph's state, a chain of texts, a chat model's own form, and a run of which nobody has said anything.
    project.add({"messages": [question]}, {"messages": [question, answer]}, wrong)
    project.add(
        {"question": "And the shop?"}, {"answer": "At noon."}, {"score": 0, "comment": "The office closes at six."}
    )
    made = {"lc": 1, "type": "constructor", "id": ["HumanMessage"], "kwargs": human("The office?")}
    late = {"value": False, "comment": "The office closes at seven."}
    project.add({"messages": [made]}, {"messages": [answer]}, {"score": 1, "comment": "Fine."}, late)
    project.add({"messages": [question]}, {"messages": [question, answer]})
    status, out, err = langsmith()
    assert (status, err) == (0, "")
    assert "3 learned" in out
    assert "Left out" not in out
    assert texts(home) == [FIVE, "I must say that the office closes at seven.", SIX]
    [asked] = project.asked
    assert (asked["is_root"], asked["start_time"]) == (True, "2026-11-01T00:00:00+00:00")
    assert UUID(asked["session"][0]) == UUID(project.id)
    status, out, _ = langsmith()
    assert out.startswith("0 learned, 3 known already")


def test_what_is_no_verdict_or_no_conversation_is_left_out_and_counted(project, langsmith):
    said = ({"question": "When does it close?"}, {"answer": "At noon."})
    project.add(*said, {"score": 0.5})
    project.add(*said, {"score": None, "comment": "Hm."})
    project.add({"a": "1", "b": "2"}, {}, {"score": 0})
    project.add({"messages": [human("When?")]}, {"messages": [{"type": "root"}]}, {"score": 0})
    # This package's own verdicts come from no person.
    project.add(*said, {"key": "verdict", "score": 0})
    status, out, _ = langsmith()
    assert status == 0
    assert "2 runs with a score that is neither 0 nor 1 and 2 runs without a question and an answer" in out
    assert "0 learned" in out


def test_a_key_and_a_user_are_chosen(home, project, langsmith):
    said = ({"question": "When does it close?"}, {"answer": "At noon."})
    stars = {"key": "stars", "score": 1}
    thumb = {"key": "thumb", "score": 0, "comment": "The office closes at five."}
    project.add(*said, thumb, stars, metadata={"user_id": "ann"})
    status, out, _ = langsmith("--feedback-key", "thumb", "--user-field", "metadata.user_id")
    assert (status, "1 learned" in out) == (0, True)
    assert texts(home, "--user", "ann") == [FIVE]


@pytest.mark.parametrize("kind", ["model", "auto_eval"])
def test_a_model_that_judges_is_no_person(home, project, langsmith, kind):
    said = ({"question": "When does it close?"}, {"answer": "At noon."})
    judge = {
        "key": "correctness",
        "score": 0,
        "comment": "The office closes at six.",
        "feedback_source": {"type": kind},
    }
    person = {"score": 0, "comment": "The office closes at five.", "feedback_source": {"type": "app"}}
    project.add(*said, person, judge)
    assert langsmith()[0] == 0
    assert texts(home) == [FIVE]


def test_a_run_without_a_user_is_left_out_and_is_not_everyones(home, project, langsmith):
    wrong = {"score": 0, "comment": "The office closes at five."}
    project.add({"question": "When does it close?"}, {"answer": "At noon."}, wrong, metadata={"user_id": "ann"})
    project.add({"question": "And the shop?"}, {"answer": "At noon."}, wrong)
    status, out, err = langsmith("--user-field", "metadata.user_id")
    assert (status, err) == (0, "")
    assert "Left out: 1 run without a user" in out
    assert texts(home, "--user", "ann") == [FIVE]
    assert texts(home) == []


def test_a_project_that_is_not_there_and_a_server_that_fails_are_one_line(project, langsmith):
    status, _, err = langsmith(name="other")
    assert (status, "LangSmith has no project 'other'" in err) == (2, True)
    project.broken = True
    status, _, err = langsmith()
    assert (status, "LangSmith could not be asked" in err, err.count("\n")) == (2, True, 1)
