import json
import re
from uuid import UUID

import pytest
from langsmith.schemas import Example

from langgraph_reflexion import ConfigurationError
from langgraph_reflexion.agents.task_file import open_tasks, read_tasks

ID = "8b9a0f1e-5b1c-4f4e-9d1f-2f2d4c6a7b10"


def read(folder, name, content, **fields):
    if content is not None:
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    source = open_tasks(str(folder / name))
    return read_tasks(source.rows(source.splits[0]), **fields)


def pairs(found):
    return [(task["instruction"], task["data"].get("reference")) for task in found.tasks]


def line(**row):
    return json.dumps(row) + "\n"


# LangSmith's page of a dataset writes JSONL and the CSV with prefixes, that of an experiment the other CSV, and its
# command line the array.
@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("t.jsonl", "\ufeff" + line(task="a", answer="b"), ("a", "b")),
        ("t.JSONL", '\n {"task": "a",\t"answer": "b"}\r\n\r\n', ("a", "b")),
        ("t.jsonl", '{"task": "a\u2028b"}', ("a\u2028b", None)),
        ("t.json", json.dumps([{"task": "a", "answer": "b"}], indent=2), ("a", "b")),
        ("t.csv", '\ufeffinput,answer\r\n"a ""b""\r\nc","d, e"\r\n', ('a "b"\r\nc', "d, e")),
        ("t.csv", "\n\ntask,answer,,\na,b,,\n\n", ("a", "b")),
        ("t.jsonl", line(task={"a": [1, None]}, answer={"b": [1.5, True]}), ('{"a": [1, null]}', {"b": [1.5, True]})),
        ("t.jsonl", line(task=5, answer=0), ("5", 0)),
        ("t.jsonl", line(task="a", answer=12345678901234567890), ("a", "12345678901234567890")),
        ("t.jsonl", line(inputs={"question": "q", "more": 1}, outputs={"answer": "a", "source": 2}), ("q", "a")),
        ("t.jsonl", line(id=ID, inputs={"text": "q"}, outputs={"label": "a"}, metadata={}), ("q", "a")),
        ("t.jsonl", line(inputs={"text": "q"}, outputs={"x": 1, "y": 2}), ("q", {"x": 1, "y": 2})),
        ("t.json", json.dumps([{"inputs": {"text": "q"}, "outputs": {"label": "a"}}]), ("q", "a")),
        ("t.csv", "input_question,input_more,output_answer,output_source\nq,1,a,2\n", ("q", "a")),
        ("t.csv", 'id,inputs,reference_outputs,outputs\n1,"{""x"": ""q""}","{""y"": ""a""}",{}\n', ("q", "a")),
    ],
)
def test_formats_and_exports_of_langsmith(tmp_path, name, content, expected):
    assert pairs(read(tmp_path, name, content)) == [expected]


def test_examples_as_the_client_of_langsmith_writes_them(tmp_path):
    inputs, outputs = {"question": "q", "context": ["c"]}, {"answer": "a"}
    example = Example(id=UUID(ID), dataset_id=UUID(int=1), inputs=inputs, outputs=outputs, metadata={"split": "base"})
    found = read(tmp_path, "t.jsonl", example.model_dump_json() + "\n")
    assert found.tasks == [{"id": ID, "instruction": "q", "data": {"reference": "a"}}]


def test_columns_are_named_and_keys_of_objects(tmp_path):
    row = line(**{"a.b": "exact", "inputs": {"q": {"text": "nested"}}, "other": '{"c": 7}'})
    texts = {"a.b": "exact", "inputs.q.text": "nested", "other.c": "7", "inputs.q": '{"text": "nested"}'}
    for field, text in texts.items():
        assert pairs(read(tmp_path, "t.jsonl", row, task_field=field, answer_field="other.c")) == [(text, 7)]


def test_ids_are_any_text_or_number(tmp_path):
    ids = ["../../x", "x\ny", "\u65e5\U0001f600", "x" * 5000, "x\0y", " ", 0, -1, None]
    found = read(tmp_path, "t.jsonl", "".join(line(task="a", id=each) for each in ids))
    assert [task["id"] for task in found.tasks] == [*(str(each) for each in ids[:-1]), "9"]


def test_the_digest_is_of_tasks_and_answers(tmp_path):
    one = read(tmp_path, "t.jsonl", line(task="a", answer="b", note=1)).digest
    assert one == read(tmp_path, "t.csv", "task,answer\r\na,b\r\n").digest
    others = [line(task="a", answer="c"), line(task="b", answer="b"), line(task="a", answer="b", id="x")]
    assert one not in {read(tmp_path, "t.jsonl", each).digest for each in others}


@pytest.mark.parametrize(
    ("name", "content", "fields", "words"),
    [
        ("t.txt", "", {}, ".jsonl"),
        ("none.jsonl", None, {}, "No such file"),
        ("t.jsonl", '{"task": "x"}\n\n{"task": ', {}, "line 3: not JSON"),
        ("t.jsonl", '{"task": "x"}\n{"task": "caf\u00e9"}\n'.encode("cp1252"), {}, "line 2, is not UTF-8"),
        ("t.jsonl", '{"task": ' + "[" * 100_000, {}, "line 1: not JSON"),
        ("t.jsonl", '{"task": "x", "id": "\\ud800"}\n', {}, "line 1, holds invalid Unicode"),
        ("t.json", '{"task": "x"}', {}, "not a JSON array"),
        ("t.jsonl", '{"a": 1, "b": 2}\n', {}, "columns a, b: name the one"),
        ("t.jsonl", line(inputs="q", targets="a"), {}, "columns inputs, targets"),
        ("t.csv", "prompt,input_tokens,output_tokens\nx,1,2\n", {}, "columns prompt, input_tokens, output_tokens"),
        ("t.jsonl", line(inputs={"a": 1, "b": 2}), {}, "columns inputs, inputs.a, inputs.b: name the one"),
        ("t.jsonl", line(inputs={"a": 1}), {"task_field": "inputs.c"}, "line 1: there is no 'inputs.c'"),
        ("t.jsonl", '{"task": "x"}\n{"input": "y"}\n', {}, "line 2: there is no 'task'"),
        ("t.jsonl", '{"task": null}\n', {}, "line 1: the task in 'task' is empty"),
        ("t.jsonl", line(task="x", id=1) + line(task="y", id="1"), {}, "line 2: the id '1' is already used"),
        ("t.jsonl", '{"task": "x", "id": 1.5}\n', {}, "line 1: the id must be"),
        ("t.jsonl", '{"task": "x"}\n', {"task_field": "q"}, "'q' (--task-field)"),
        ("t.csv", "task,answer\nx,y\nz\n", {}, "line 3, has more or fewer cells"),
        ("t.csv", '\n\ntask,answer\n"x\n",y\n\nz,\n"w\n"\n', {}, "line 8, has more or fewer cells"),
        ("t.csv", "\nquestion,answer,answer\na,1,2\n", {}, "line 2: two columns are called 'answer'"),
        ("t.csv", 'task\n"x\ny\n', {}, "line 2, is not CSV"),
    ],
)
def test_errors_say_where(tmp_path, name, content, fields, words):
    with pytest.raises(ConfigurationError, match=re.escape(words)):
        read(tmp_path, name, content, **fields)
