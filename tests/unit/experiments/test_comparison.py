import io
import json
import re

import pytest
from rich.console import Console

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.lab.experiments.comparison import compare, task_lines
from langgraph_reflexion.lab.experiments.runs import read_run
from langgraph_reflexion.lab.experiments.trials import trials_of_run
from tests.support.run_folders import folder, row

TASKS = [f"t{number:02}" for number in range(40)]
FAULT = {"stop_reason": "fault", "fault": "gone"}


def played(solved_in, tokens, trials=4):
    """Return rows in which each task is solved in the trial of its number, if there is one, at tokens per trial."""
    return [
        row(task, trial, trial == solved_in(number), input_tokens=tokens - 10)
        for number, task in enumerate(TASKS)
        for trial in range(1, min(solved_in(number), trials) + 1)
    ]


def seeded(path, strategy, seed, *solved, tasks="abcd"):
    rows = [
        row(task, trial, task in those)
        for task in tasks
        for trial, those in enumerate(solved, 1)
        if not any(task in earlier for earlier in solved[: trial - 1])
    ]
    settings = {"max_trials": len(solved), "strategy": strategy, "seed": seed}
    return folder(path / f"{strategy}-s{seed}", rows, list(tasks), **settings)


def printed(comparison, width=100):
    console = Console(width=width, record=True, file=io.StringIO())
    comparison.print(console)
    return console.export_text()


def test_a_strategy_may_be_ahead_at_equal_trials_and_behind_at_equal_tokens(tmp_path):
    # One solves ten tasks at once and the others in trial 2; the other ten in each trial, at a third of the price.
    dear = folder(tmp_path / "dear", played(lambda task: 1 if task < 10 else 2, 3000), TASKS, max_trials=4)
    rows = played(lambda task: 1 + task // 10 + (task >= 30), 1000)
    cheap = folder(tmp_path / "cheap", rows, TASKS, max_trials=4, strategy="retry")
    comparison = compare([dear, cheap])
    (pair,) = comparison.as_json()["pairs"]
    assert pair["equal_trials"] == {
        "amount": 4,
        "solved": [40, 30],
        "of": 40,
        "tasks": 40,
        "only": [10, 0],
        "p": 2 / 1024,
    }
    # 100,000 tokens are all that the cheap one spends. They pay for 33 first trials of the dear one.
    tokens = pair["equal_tokens"]
    assert (tokens["amount"], tokens["solved"], tokens["only"]) == (100_000, [10, 30], [0, 20])
    assert tokens["p"] == pytest.approx(2 / 2**20)
    conclusion = (
        "A reflexion is ahead at equal trials (p = 0.002, 40 tasks); "
        "B retry is ahead at equal tokens (p < 0.001, 40 tasks)."
    )
    assert pair["conclusion"] == conclusion
    assert conclusion in printed(comparison, 200)
    assert conclusion.replace("<", "&lt;") in comparison._repr_html_()
    (turned,) = compare([cheap, dear]).pairs
    assert turned.conclusion.startswith("B reflexion is ahead at equal trials")


@pytest.mark.parametrize(
    ("alone", "certainty"),
    [
        (5, ", but not significantly (p = 0.062, 40 tasks; 5 differ, and fewer than 6 are never significant)"),
        (6, " (p = 0.031, 40 tasks)"),
    ],
)
def test_too_few_tasks_that_differ_are_said_to_be_too_few(tmp_path, alone, certainty):
    better = folder(tmp_path / "better", played(lambda task: 1, 1000), TASKS)
    worse = folder(tmp_path / "worse", played(lambda task: 1 + 9 * (task < alone), 1000), TASKS, strategy="retry")
    (pair,) = compare([better, worse]).pairs
    assert pair.matches[0].certainty == certainty


def test_at_equal_tokens_all_tasks_advance_together_until_they_are_used_up(tmp_path):
    one = folder(tmp_path / "one", played(lambda task: 1 + task % 2, 1000), TASKS, max_trials=4)
    other = folder(tmp_path / "other", played(lambda task: 1, 1250), TASKS, max_trials=4, strategy="retry")
    (pair,) = compare([one, other]).pairs
    trials, tokens = pair.matches
    assert (trials.solved, tokens.solved) == ((40, 40), (30, 40)), "40 first and 10 of 20 second trials"
    assert tokens.amount == 50_000
    assert pair.conclusion.startswith("They are level at equal trials; B retry is ahead at equal tokens")


def test_a_lead_in_total_may_be_a_loss_on_most_tasks(tmp_path):
    # One solves a single task under ten seeds, the other eight tasks under one seed each.
    tasks = list("abcdefghi")
    runs = [seeded(tmp_path, "reflexion", seed, "a", tasks=tasks) for seed in range(10)]
    runs += [seeded(tmp_path, "retry", seed, tasks[1 + seed] if seed < 8 else "", tasks=tasks) for seed in range(10)]
    (pair,) = compare(runs).pairs
    assert (pair.matches[0].solved, pair.matches[0].test[:2]) == ((10, 8), (1, 8))
    assert pair.matches[0].test.significant
    assert "but on fewer tasks" in pair.conclusion


def test_the_settings_of_a_run_break_between_two_of_them(tmp_path):
    rows = [row("a", 1, True)]
    model = "openai:a-model-with-a-rather-long-name"
    run = folder(tmp_path / "run", rows, ["a"], model=model, evaluator="llm", memory="full", memory_size=None)
    for width in (40, 60, 80):
        above, _, _ = printed(compare(run), width).partition("Tasks solved")
        lines = [line.strip() for line in above.splitlines()[1:]]
        assert len(lines) > 1
        assert not [line for line in lines if line.startswith("·") or line.endswith("·")]
        joined = " · ".join(lines)
        assert f"1 task · {model} · actor react · profile paper · verdicts by llm, no oracle" in joined


def test_an_agents_tasks_are_named_by_their_file(tmp_path):
    options = {"tasks": "data/tasks.jsonl", "task_field": "question", "digest": "a42ac5341187"}
    settings = {"environment": "agent.py:agent", "split": "tasks", "options": options, "actor": "agent"}
    own = folder(tmp_path / "own", [row("a", 1, True)], ["a"], **settings)
    said = "agent.py:agent on data/tasks.jsonl (digest a42ac5341187), 1 task\n"
    assert said in printed(compare(own), 80)
    settings |= {"split": "train", "options": options | {"tasks": "hub/dataset"}}
    hub = folder(tmp_path / "hub", [row("a", 1, True)], ["a"], **settings)
    assert "agent.py:agent on hub/dataset train (digest a42ac5341187), 1 task" in printed(compare(hub), 80)


def test_unknown_truths_and_unfinished_tasks_are_counted_as_unsolved_and_named(tmp_path):
    rows = [row("a", 1, None, True), row("b", 1, True), row("c", 1, None, **FAULT)]
    comparison = compare(folder(tmp_path / "run", rows, list("abcd"), max_trials=1, evaluator="llm"))
    (sentence,) = comparison.sentences()
    assert "unknown for 1 of 4 tasks" in sentence
    assert printed(comparison, 200).count("actor react · profile paper") == 1, "the settings are there once"
    empty = compare(folder(tmp_path / "new", [], ["a", "b"]))
    assert [table.title for table in empty.tables()] == ["Cost"]
    assert "2 unfinished, counted as unsolved" in printed(empty, 200)


@pytest.mark.parametrize(
    ("changes", "task", "settings", "compared", "why"),
    [
        ({}, "a", {"options": {"engine": "other"}}, [], "their tasks differ"),
        ({}, "x", {}, [], "other tasks"),
        ({}, "a", {"seed": 1}, [], "other seeds"),
        ({"cached_calls": 1}, "a", {}, ["trials"], "cached answers"),
        ({"input_tokens": 0, "output_tokens": 0}, "a", {}, ["trials"], "no tokens"),
    ],
)
def test_what_two_runs_do_not_share_is_not_compared(tmp_path, changes, task, settings, compared, why):
    one = folder(tmp_path / "one", [row("a", 1, True, **changes)], ["a"])
    other = folder(tmp_path / "other", [row(task, 1, True)], [task], strategy="retry", **settings)
    (pair,) = compare([one, other]).pairs
    assert [match.equal for match in pair.matches] == compared
    assert bool(pair.conclusion) == bool(compared)
    assert why in pair.notes[0]


def test_only_common_tasks_with_known_outcomes_are_compared(tmp_path):
    mine = [row("a", 1, False), row("a", 2, None, **FAULT), row("b", 1, True), row("c", 1, True), row("d", 1, True)]
    theirs = [row("a", 1, True), row("b", 1, False), row("b", 2, False), row("c", 1, None, **FAULT)]
    one = folder(tmp_path / "one", mine, list("abcd"), max_trials=2)
    other = folder(tmp_path / "other", theirs, list("abc"), max_trials=2, strategy="retry")
    (pair,) = compare([one, other]).pairs
    assert pair.left_out == 2
    assert [(match.solved, match.of) for match in pair.matches] == [((1, 0), 1)] * 2
    assert "(1 only A, 0 only B)" in pair.notes[0]
    assert "2 tasks left out" in pair.notes[1]


def test_runs_that_differ_only_in_their_seed_are_one_group(tmp_path):
    runs = [seeded(tmp_path, "reflexion", seed, *solved) for seed, *solved in ((0, "a", "b"), (1, "ab", "c"))]
    comparison = compare([*runs, seeded(tmp_path, "reflexion", 2, "abc", "d")])
    (group,) = comparison.as_json()["groups"]
    assert group["over_seeds"] == {
        "seeds": [0, 1, 2],
        "shares": [(0.25, 0.5, 0.75), (0.5, 0.75, 1.0)],
        "mean": [0.5, 0.75],
        "sd": [0.25, 0.25],
    }
    low, high = group["intervals"][1]
    assert low < 0.4, "four tasks, and not twelve"
    assert high < 1.0
    text = printed(comparison)
    assert re.search(r"\n reflexion +4x3 +50 ± 25 +75 ± 25 +50-100 +\d+-\d+ +[\d,]+ *\n", text)
    assert "seeds 0, 1, 2" in text
    assert "mean ±" not in printed(compare(runs[0]))


def test_every_table_names_the_settings_behind_it(tmp_path):
    versions = {"langgraph_reflexion": "1.0", "commit": "0123456789ab-dirty"}
    rows = [row("a", 1, False, True), row("a", 2, True, notes=["the prompt was shortened"])]
    one = folder(tmp_path / "one", rows, ["a"], versions=versions, evaluator="llm", model="openai:x", memory_size=1)
    versions["commit"] = None
    other = folder(tmp_path / "other", rows, ["a"], versions=versions, strategy="retry", seed=4, memory_size=3)
    tables = compare([one, other]).tables()
    assert len(tables) == 6
    for table in tables:
        said = ["profile paper", "verdicts by llm, no oracle", "openai:x", "seed 0", "commit 0123456789ab-dirty"]
        if "verdict" not in table.title.lower():  # an oracle's verdicts are not in it
            said += ["oracle", "demo model, not an LLM", "seed 4", "version 1.0", "memory size 1", "memory size 3"]
        assert all(fact in table.caption for fact in said), table.title
    facts = "demo model, not an LLM · actor react · profile paper · oracle · seed 0 · version not recorded"
    (table,) = compare(folder(tmp_path / "old", [], ["a"])).tables()
    assert table.caption.endswith(facts)


def test_ungradable_tasks_count_for_no_rate(tmp_path):
    rows = [row("a", 1, True), row("b", 1, None, True, gradable=False), row("c", 1, False)]
    some = folder(tmp_path / "some", rows, list("abc"), max_trials=1, evaluator="llm")
    none = folder(tmp_path / "none", rows[1:2], ["b"], max_trials=1, evaluator="llm", strategy="retry")
    comparison = compare([some, none])
    report, other = (each.report for each in comparison.groups)
    assert (report.tasks, report.ungradable, report.unfinished, report.solved) == (2, 1, 0, [1])
    assert (sum((report.answers or {}).values()), other.tasks) == (2, 0)
    assert "1 not gradable" in printed(comparison)


def test_no_setting_or_name_can_control_the_terminal_or_the_notebook(tmp_path):
    hostile = "\x1b[2J[bold]x[/bold]\u202e\x9b<script>"
    settings = dict.fromkeys(("split", "model", "reflection_model", "profile", "evaluator", "actor"), hostile)
    run = folder(tmp_path / hostile, [row("a", 1, True)], ["a"], versions={"commit": hostile}, **settings)
    comparison, out = compare(run), io.StringIO()
    for shown in (comparison, trials_of_run(run, "a")):
        shown.print(Console(width=200, file=out))
    assert not set("\x1b\u202e\x9b") & set(out.getvalue())
    assert out.getvalue().count("␛[2J[bold]x[/bold]") > 10
    for shown in (read_run(run), comparison, comparison.tables()[0]):
        html = shown._repr_html_()
        assert "<script>" not in html
        assert "&lt;script&gt;" in html
        assert "\n" not in repr(shown)


def test_an_experiment_is_compared_by_the_names_of_its_groups(tmp_path):
    runs = [("reflexion", 0, "ab", "c"), ("reflexion", 1, "a", "b"), ("retry", 0, "a", ""), ("retry", 1, "b", "")]
    for strategy, seed, *solved in runs:
        seeded(tmp_path, strategy, seed, *solved)
    comparison = compare(tmp_path)
    assert [each.label for each in comparison.groups] == ["A reflexion", "B retry"]
    assert len(comparison.pairs) == 1
    assert re.search(r"\n A reflexion +4x2 +38 ± 18 +62 ± 18 ", printed(comparison))
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "run.json").write_text("{}")
    beside = compare(tmp_path)
    assert (beside.groups, len(beside.left_out)) == (comparison.groups, 1)
    assert "run.json: settings is missing; tasks is missing" in printed(beside, 300)
    with pytest.raises(ConfigurationError, match="settings is missing"):
        compare([tmp_path, tmp_path / "foreign"])
    assert len(compare([tmp_path, tmp_path / "retry-s0"]).runs) == 5


def test_settings_that_differ_are_said_in_words(tmp_path):
    limited = {"budgets": {"run": {"llm_calls": 14}}, "first_trial_of": None}
    shared = {"budgets": {}, "first_trial_of": "runs/first"}
    rows = [row("a", 1, True)]
    first = folder(tmp_path / "first", rows, ["a"], **limited)
    second = folder(tmp_path / "second", rows, ["a"], **shared)
    said = " ".join(printed(compare([first, second])).split())
    assert "budgets run.llm_calls=14" in said
    assert "first trial of runs/first" in said
    assert "None" not in said


def test_a_folder_of_runs_names_one_of_them_where_a_single_run_is_needed(tmp_path):
    folder(tmp_path / "out" / "game-retry-s0", [row("a", 1, True)], ["a"])
    with pytest.raises(ConfigurationError, match=r"name one of those in it, such as .*game-retry-s0"):
        read_run(tmp_path / "out")


def with_code(run, **digests):
    """Write into a run folder which code of the user's it has run."""
    file = run / "run.json"
    info = json.loads(file.read_text())
    info["code"] = {f"{name}.py": digest for name, digest in digests.items()}
    file.write_text(json.dumps(info))
    return run


def test_runs_of_other_code_are_not_one_group(tmp_path):
    before = with_code(seeded(tmp_path, "reflexion", 0, "ab"), agent="1111111122222222", checks="aaaaaaaabbbbbbbb")
    after = with_code(seeded(tmp_path, "reflexion", 1, "abc"), agent="1111111122222222", checks="ccccccccdddddddd")
    comparison = compare([before, after])
    assert [len(group.runs) for group in comparison.groups] == [1, 1]
    caption = comparison.tables()[0].caption
    assert "A: checks.py in version aaaaaaaa" in caption
    assert "B: checks.py in version cccccccc" in caption
    assert "agent.py" not in caption, "both have run the same"


@pytest.mark.parametrize(
    ("ids", "names"),
    [(["sea", "sun"], ["1", "2"]), (["1", "2"], ["1", "2"]), (["2", "1"], ["2", "1"]), (["7", "8"], ["1", "2"])],
)
def test_the_listed_name_of_a_task_names_it(tmp_path, ids, names):
    run = read_run(
        folder(tmp_path / "run", [row(task, 1, True) for task in ids], ids, goals={task: task for task in ids})
    )
    assert [str(line).split()[0] for line in task_lines(run, 80)] == names
    assert [trials_of_run(run, name).title for name in names] == ids


def test_the_same_tasks_are_compared_whatever_their_environments_are_called(tmp_path):
    goals = {"a": "Find the pan.", "b": "Find the sea."}
    rows = [row("a", 1, True), row("b", 1, False)]
    built_in = folder(tmp_path / "built-in", rows, ["a", "b"], goals=goals)
    mine = folder(tmp_path / "mine", rows, ["a", "b"], goals=goals, environment="mine.py:Mine")
    assert compare([built_in, mine]).pairs[0].matches
    others = folder(
        tmp_path / "others", rows, ["a", "b"], goals={**goals, "b": "Find it."}, environment="mine.py:Mine"
    )
    assert "their tasks differ" in compare([built_in, others]).pairs[0].notes[0]
    # The reference answers of an agent's tasks are in their digest, and not in their texts.
    agents = [
        folder(tmp_path / digest, rows, ["a", "b"], goals=goals, environment="a.py:a", options={"digest": digest})
        for digest in ("1234", "5678")
    ]
    assert "their tasks differ" in compare(agents).pairs[0].notes[0]


def test_a_reflection_is_paid_for_by_the_trial_that_reads_it(tmp_path):
    of_calls = {"llm_calls": 1, "cached_calls": 0, "cost": 0.0}
    acting = {**of_calls, "input_tokens": 90, "output_tokens": 10}
    reflecting = {**of_calls, "input_tokens": 150, "output_tokens": 50}
    usage = {"usage": {"act": acting, "reflect": reflecting}, "input_tokens": 240, "output_tokens": 60}
    plain = {"usage": {"act": acting}, **acting}
    tasks = ["a", "b", "c"]
    first_right = [row("a", 1, False, **usage), row("a", 2, False, **plain)]
    first_right += [row("b", 1, True, **plain), row("c", 1, True, **plain)]
    reflexion = folder(tmp_path / "reflexion", first_right, tasks, max_trials=2)
    retry = folder(tmp_path / "retry", [row(task, 1, True, **plain) for task in tasks], tasks, strategy="retry")
    (pair,) = compare([reflexion, retry]).as_json()["pairs"]
    # 300 tokens pay for all first trials, and for no reflection.
    assert (pair["equal_tokens"]["amount"], pair["equal_tokens"]["solved"]) == (300, [2, 3])
    assert compare(reflexion).runs[0].tokens == [300, 600]


def test_a_seed_that_has_ended_early_keeps_its_last_value(tmp_path):
    tasks = list("abcd")
    # One seed stops after a trial that solved nothing new, and the other one goes on to solve all.
    stopped = folder(tmp_path / "s0", [row(task, 1, task == "a") for task in tasks], tasks, seed=0)
    info = json.loads((stopped / "run.json").read_text())
    (stopped / "run.json").write_text(json.dumps(info | {"stopped_after": 1}))
    rows = [row(task, trial, trial == 3) for task in tasks for trial in (1, 2, 3)]
    (group,) = compare([stopped, folder(tmp_path / "s1", rows, tasks, seed=1)]).groups
    assert [each.shares for each in group.by_seed()] == [(0.25, 0.0), (0.25, 0.0), (0.25, 1.0)]


def test_tasks_that_a_run_has_not_begun_are_left_out_for_that_reason(tmp_path):
    tasks = list("abcd")
    whole = folder(tmp_path / "whole", [row(task, 1, True) for task in tasks], tasks)
    begun = folder(tmp_path / "begun", [row("a", 1, True)], tasks, strategy="retry")
    (pair,) = compare([whole, begun]).pairs
    assert any("3 tasks left out, of which one of them has no trial" in note for note in pair.notes)
    assert not any("fault" in note for note in pair.notes)


def test_replies_out_of_the_cache_count_at_equal_tokens(tmp_path):
    tasks = ["a", "b"]
    paid = folder(tmp_path / "paid", [row(task, 1, True) for task in tasks], tasks)
    cached = {"llm_calls": 0, "cached_calls": 2, "input_tokens": 0, "output_tokens": 0}
    reused = {"reused_input_tokens": 1000, "reused_output_tokens": 10}
    rows = [row(task, 1, True, **cached, **reused) for task in tasks]
    free = folder(tmp_path / "free", rows, tasks, strategy="retry")
    compared = compare([paid, free])
    (pair,) = compared.as_json()["pairs"]
    assert (pair["equal_tokens"]["amount"], pair["equal_tokens"]["solved"]) == (2020, [2, 2])
    assert [report.tokens for report in compared.runs] == [[2020] * 3, [2020] * 3]
    costs = [report.costs for report in compared.runs]
    assert [cost["tokens_per_solved"] for cost in costs] == [1010, 1010]
    assert [cost["reused_tokens"] for cost in costs] == [0, 2020]


def test_an_experiment_says_what_it_leaves_out_and_which_verdicts_were_wrong(tmp_path):
    def played(name, strategy, ablation, rows, **settings):
        made = folder(tmp_path / name, rows, ["a", "b"], strategy=strategy, **settings)
        file = made / "run.json"
        info = json.loads(file.read_text())
        info["axes"] = {"environment": "alfworld", "strategy": strategy, "ablation": ablation}
        file.write_text(json.dumps(info))

    right = [row("a", 1, True), row("b", 1, True)]
    played("retry-s0", "retry", "none", right)
    played("retry-long-s0", "retry", "long", right, max_trials=8)
    believed = [row("a", 1, True), row("b", 1, False, True)]
    played("reflexion-s0", "reflexion", "none", believed, evaluator="checks.py:check")
    said = " ".join(printed(compare(tmp_path)).split())
    assert "Groups that differ on several axes are not compared here: `report FOLDER FOLDER` compares any two" in said
    assert "such as A and B" in said, "in the order of the folders: reflexion, retry-long, retry"
    assert "A: 1 of 2 accepted answers are wrong." in said


def test_what_could_not_be_compared_is_null(tmp_path):
    one = folder(tmp_path / "one", [row("a", 1, True)], ["a"])
    other = folder(tmp_path / "other", [row("b", 1, True)], ["b"], environment="mine.py:Mine")
    (pair,) = compare([one, other]).as_json()["pairs"]
    assert (pair["equal_trials"], pair["equal_tokens"]) == (None, None)


def test_a_right_answer_that_was_not_accepted_is_told_from_a_wrong_one(tmp_path):
    rows = [row("a", 1, True, False), row("b", 1, False), row("c", 1, True), row("d", 1, False, True)]
    run = read_run(folder(tmp_path / "run-s0", rows, list("abcd"), max_trials=1, evaluator="checks.py:check"))
    outcomes = [str(line)[3:].rpartition("  ")[0].strip() for line in task_lines(run, 80)]
    assert outcomes == [
        "right, but not accepted in 1 trial",
        "not solved in 1 trial",
        "solved in trial 1",
        "accepted in trial 1, but wrong",
    ]
    said = " ".join(printed(compare(tmp_path)).split())
    assert "run: 1 of 2 accepted answers are wrong; 1 of 2 right answers were not accepted, and count" in said


def test_a_task_that_ends_on_a_budget_is_not_called_unfinished(tmp_path):
    cut = {"stop_reason": "budget", "verdict": None}
    # The heuristic may have ended the trial that used the budget up.
    noted = {"stop_reason": "hallucination", "notes": ["task budget of 100 tokens used up"]}
    rows = [row("a", 1, True), row("b", 1, False, **cut), row("c", 1, False, **noted)]
    one = folder(tmp_path / "one", rows, ["a", "b", "c"])
    report = compare(one).runs[0]
    assert (report.on_budget, report.unfinished) == (2, 0)
    said = " ".join(printed(compare([one, seeded(tmp_path, "retry", 0, "abc", tasks="abc")])).split())
    assert "2 ended on a budget, counted as unsolved" in said
    assert "unfinished" not in said


def test_a_run_that_ended_by_its_own_rule_is_compared_at_the_trials_it_could_have_made(tmp_path):
    def info_of(run, **facts):
        file = run / "run.json"
        file.write_text(json.dumps(json.loads(file.read_text()) | facts))
        return run

    until = [row("a", 1, True), row("b", 1, False), row("b", 2, False)]
    ended = info_of(folder(tmp_path / "ended", until, ["a", "b"], max_trials=9), stopped_after=2)
    on = [row("a", 1, True), *(row("b", trial, trial == 4) for trial in range(1, 5))]
    went_on = folder(tmp_path / "went-on", on, ["a", "b"], max_trials=4, strategy="retry")
    (pair,) = compare([ended, went_on]).pairs
    (at_trials, _) = pair.matches
    assert (at_trials.amount, at_trials.solved) == (4, (1, 2))
    assert "A ended after a trial that solved nothing new: later ones count as solving none." in pair.notes


def test_first_trials_of_another_run_for_each_seed_are_one_group(tmp_path):
    def shared(seed):
        first = str(tmp_path / f"retry-s{seed}")
        settings = {"strategy": "reflexion", "seed": seed, "first_trial_of": first, "max_trials": 2}
        return folder(tmp_path / f"shared-s{seed}", [row("a", 1, True)], ["a"], **settings)

    plain = seeded(tmp_path, "reflexion", 2, "a", "", tasks="a")
    assert [len(group.runs) for group in compare([shared(0), shared(1), plain]).groups] == [2, 1]


def test_an_agents_task_that_ends_on_a_budget_is_unsolved_in_pairs(tmp_path):
    cut = {"stop_reason": "budget", "verdict": None}
    limited = folder(tmp_path / "limited", [row("a", 1, True), row("b", 1, None, **cut)], ["a", "b"], actor="agent")
    free = folder(
        tmp_path / "free", [row("a", 1, True), row("b", 1, True)], ["a", "b"], actor="agent", strategy="retry"
    )
    match = compare([limited, free]).pairs[0].matches[0]
    assert (match.solved, match.of) == ((1, 2), 2)
