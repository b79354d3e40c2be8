"""The tables and curves of the rivals, from rows."""

import pytest

from benchmarks.rivals.own_lines import own_lines
from benchmarks.rivals.protocol import WHERE, adapter_file
from benchmarks.rivals.run import TRAINING, Rows, read_rows, spread
from benchmarks.rivals.table import (
    ALL_TRAINING,
    SHARED_TRAINING,
    calls_of,
    chart,
    curve,
    entries_of,
    equal_tokens,
    paired,
    report,
    together,
    tokens_of,
)


def row(rival, task, *, solved=True, calls=2, tokens=100, ended="returned", sample=1):
    return {
        "rival": rival,
        "version": "1.0",
        "world": "small-tasks",
        "task": task,
        "sample": sample,
        "solved": solved,
        "ended": ended,
        "calls": calls,
        "calls_allowed": 8,
        "prompt_tokens": tokens - 10,
        "completion_tokens": 10,
        "seconds": 1.5,
    }


def entry(rows, name):
    return next(each for each in entries_of(rows, "small-tasks") if each.name == name)


def test_a_row_that_is_there_is_known_after_a_kill_in_the_next_one(tmp_path):
    rows = Rows(tmp_path)
    rows.write(row("refine", "a"))
    with rows.file.open("a") as file:
        file.write('{"rival": "refine", "ta')
    assert len(read_rows(rows.file)) == 1
    again = Rows(tmp_path)
    assert ("refine", "small-tasks", "a", 1) in again.found
    again.write(row("refine", "b"))
    assert [each["task"] for each in read_rows(rows.file)] == ["a", "b"]


def test_tasks_are_spread_evenly():
    assert spread(list("abcdefghij"), 3) == ["a", "d", "g"]
    assert spread(["a", "b"], None) == ["a", "b"]
    assert spread(["a", "b"], 5) == ["a", "b"]


def test_a_training_is_borne_by_each_task_or_shared():
    training = {**row("gepa", TRAINING, calls=40, tokens=4000), "solved": None}
    rows = [training, row("gepa", "a"), row("gepa", "b", solved=False)]
    assert [outcome.calls for outcome in entry(rows, "gepa" + ALL_TRAINING).outcomes] == [42, 42]
    assert [outcome.calls for outcome in entry(rows, "gepa" + SHARED_TRAINING).outcomes] == [22, 22]
    assert [outcome.tokens for outcome in entry(rows, "gepa" + SHARED_TRAINING).outcomes] == [2100, 2100]


def test_a_training_takes_no_call_from_those_that_a_task_is_allowed():
    training = {**row("gepa", TRAINING, calls=24, tokens=2400), "solved": None}
    rows = [training, *[row("gepa", task) for task in "abc"]]
    rows += [row("this-reflexion", task, solved=False) for task in "abc"]
    [line] = [line for line in report(rows) if line.startswith("* `gepa")]
    assert "(3 solved by it alone, 0 by `this-reflexion` alone; p = 0.250)" in line


def test_a_training_without_tasks_is_no_entry():
    assert entries_of([{**row("gepa", TRAINING), "solved": None}], "small-tasks") == []


def test_two_rivals_are_paired_by_task_at_equal_calls_and_tokens():
    first = [row("refine", task, calls=4, tokens=400) for task in "abc"]
    second = [row("this-reflexion", task, solved=task != "c", calls=1, tokens=100) for task in "abcd"]
    one, other = entry([*first, *second], "refine"), entry([*first, *second], "this-reflexion")
    test = paired(one, other, 8, calls_of)
    assert (test.wins, test.losses, test.tasks) == (1, 0, 3)
    assert equal_tokens(one, other) == 100
    test = paired(one, other, 100, tokens_of)
    assert (test.wins, test.losses) == (0, 2)


def test_where_others_win_comes_first():
    rows = [row("goal-loop", task) for task in "abc"]
    rows += [row("this-reflexion", task, solved=task == "a", ended="calls used up") for task in "abc"]
    lines = report(rows)
    assert lines[2] == "Ahead of `this-reflexion` here, which solves 1 of 3:"
    assert lines[4] == "* `goal-loop`: 3 of 3 (2 solved by it alone, 0 by `this-reflexion` alone; p = 0.500)."
    assert "| `goal-loop` | 1.0 | 3 of 3, 100% |" in "\n".join(lines)


def test_two_counts_of_the_calls_are_compared():
    counted = [{**row("refine", "a"), "calls_behind_proxy": 2}, {**row("gepa", "a"), "calls_behind_proxy": 2}]
    said = "4 calls of the model for these tasks, without those of trainings; an independent count behind the proxy"
    assert said in "\n".join(report(counted))
    counted[1]["calls_behind_proxy"] = 3
    assert "Behind the proxy, another number was counted for gepa." in "\n".join(report(counted))
    # Rows without kept replies have one count.
    assert "for these tasks, without those of trainings." in "\n".join(report([row("refine", "a"), counted[0]]))


def test_a_world_that_nobody_solves_is_to_be_replaced():
    rows = [row("this-reflexion", str(number), solved=number == 0) for number in range(10)]
    assert any("replace this world" in line for line in report(rows))


def test_a_curve_rises_where_tasks_were_solved():
    rows = [row("refine", "a", calls=2), row("refine", "b", calls=2), row("refine", "c", calls=5)]
    rows.append(row("refine", "d", solved=False, calls=8))
    line = curve(entry(rows, "refine"), 0, calls_of, 1)
    assert (line.x, line.y) == ([0.0, 2.0, 5.0, 8.0], [0.0, 50.0, 75.0, 75.0])


def test_a_chart_leaves_out_whose_tasks_bear_all_training():
    rows = [row("gepa", "a"), {**row("gepa", TRAINING, calls=40), "solved": None}]
    [panel] = chart(rows, "solved", "calls", calls_of, 1).panels
    assert [line.name for line in panel.lines] == ["gepa" + SHARED_TRAINING]


def test_lines_of_code_are_counted_without_what_a_user_does_not_write(tmp_path):
    file = tmp_path / "adapter.py"
    file.write_text(
        '"""What it is."""\n\nimport os\n\n\ndef solve(job):\n    """Solve."""\n    # why\n    x = """a\nb"""\n\n'
        "    return x\n\n\ndef solve_kept(job, folder):\n    return os.getcwd()\n"
    )
    assert own_lines(file) == 4


@pytest.mark.parametrize("name", WHERE)
def test_every_adapter_is_short(name):
    assert 10 < own_lines(adapter_file(name)) < 60


def test_all_worlds_together_compare_with_the_plain_loop_in_the_tasks_that_both_played():
    rows = [row("retry-loop", task, solved=False) for task in "abcdef"]
    rows += [{**row("retry-loop", "a"), "world": "sql-changes"}]
    rows += [row("notes-loop", task) for task in "abcdef"]
    rows += [row("gepa", "a", solved=False), {**row("gepa", TRAINING, calls=10), "solved": None}]
    lines = together(rows)
    assert [line.split("|")[1].strip(" `") for line in lines[2:]] == ["notes-loop", "retry-loop", "gepa"]
    assert lines[2].endswith("| 6 won, 0 lost, p = 0.031 |")
    assert "| 1 of 7, 14% |" in lines[3]
    assert lines[3].endswith("|  |")
    assert "| 12.0 |" in lines[4]
    assert lines[4].endswith("| 0 won, 0 lost, p = 1.000 |")


def test_a_p_that_is_too_small_to_print_is_a_bound():
    rows = [row("retry-loop", task, solved=False) for task in "abcdefghijkl"]
    rows += [row("notes-loop", task) for task in "abcdefghijkl"]
    assert together(rows)[2].endswith("| 12 won, 0 lost, p < 0.001 |")
