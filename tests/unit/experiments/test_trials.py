import io
import json

import pytest
from rich.console import Console

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.lab.experiments.runs import read_run
from langgraph_reflexion.lab.experiments.trials import trials_of_run
from langgraph_reflexion.support.text import printable
from tests.support.run_folders import folder, row, steps

LOOK, GO, TAKE = ("I look.", "look", "A cup."), ("I go.", "go", "A sink."), ("Mine.", "take cup", "You have a cup.")
HOSTILE = "<script>alert(1)</script>\x1b[2J[bold]\u202e\x00\x9b\ud800"


def run_folder(path, strategy="reflexion"):
    rows = [
        row("a", trial, trial == 4, reflection=f"Lesson {trial}." if trial < 4 else None) for trial in range(1, 5)
    ]
    done = [(LOOK, GO, GO), (LOOK, GO, GO), (("Hm.", "look", "A cup."), TAKE), (TAKE,)]
    recorded = [steps("a", number, *each) for number, each in enumerate(done, 1)]
    return folder(path, rows, ["a", "b"], trajectories=recorded, strategy=strategy, memory_size=2)


def printed(shown, width=100):
    out = io.StringIO()
    shown.print(Console(width=width, file=out, highlight=False))
    return out.getvalue()


@pytest.mark.parametrize(
    ("strategy", "remembered", "last_attempt"),
    [
        ("reflexion", [[], [1], [1, 2], [2, 3]], [None] * 4),
        ("last_attempt", [[]] * 4, [None, 1, 2, 3]),
        ("last_attempt_and_reflexion", [[], [1], [1, 2], [2, 3]], [None, 1, 2, 3]),
        ("continue", [[]] * 4, [None] * 4),
    ],
)
def test_prompt_contents_follow_from_strategy_and_memory_size(tmp_path, strategy, remembered, last_attempt):
    views = trials_of_run(run_folder(tmp_path / "run", strategy), "a").views
    assert [view.remembered for view in views] == remembered
    assert [view.last_attempt for view in views] == last_attempt


@pytest.mark.parametrize(("truth", "says"), [("exact", False), (None, None)])
def test_the_truth_of_an_agents_trial_is_shown_where_it_was_recorded(tmp_path, truth, says):
    rows = [row("a", 1, False, True)]
    run = folder(tmp_path / "run", rows, ["a"], actor="agent", evaluator="llm", truth=truth)
    (view,) = trials_of_run(run, "a").views
    assert view.as_json()["truth"] is says


def test_a_run_without_tasks_is_one_clear_line(tmp_path):
    with pytest.raises(ConfigurationError, match="the run has no tasks"):
        trials_of_run(folder(tmp_path / "run", [], []), "1")


def test_a_trial_that_continues_others_says_so(tmp_path):
    views = trials_of_run(run_folder(tmp_path / "run", "continue"), "a").views
    assert [view.as_json()["continued"] for view in views] == [[], [1], [1, 2], [1, 2, 3]]
    assert "In the prompt: the conversation of trials 1 and 2, which goes on." in views[2].facts


def test_trials_differ_at_the_first_other_action_or_observation_if_both_are_recorded(tmp_path):
    assert [view.shared_steps for view in trials_of_run(run_folder(tmp_path / "run"), "a").views] == [None, 3, 1, 0]
    rows, recorded = [row("a", n, n == 3) for n in (1, 2, 3)], [steps("a", 2, LOOK), steps("a", 3, GO)]
    views = trials_of_run(folder(tmp_path / "other", rows, ["a"], trajectories=recorded), "a").views
    assert [view.shared_steps for view in views] == [None, None, 0]


def test_a_run_holds_no_steps_and_reads_them_when_they_are_shown(tmp_path):
    run = read_run(run_folder(tmp_path / "run"))
    assert ["steps" in each for each in run.trials] == [False] * 4
    assert ["steps" in each for each in run.whole_trials("a")] == [True] * 4
    assert run.whole_trials("b") == []
    file = run.folder / "trials.jsonl"
    file.write_bytes(b"".join(reversed(file.read_bytes().splitlines(keepends=True))))  # as by a run that goes on
    assert [each["trial"] for each in run.whole_trials("a")] == [1, 2, 3, 4]


def test_trials_are_printed_one_after_the_other_without_shared_steps(tmp_path):
    text = printed(trials_of_run(run_folder(tmp_path / "run"), "a"), 80)
    order = ["Trial 1: verdict: not accepted, truth: not solved, hallucination, 1 action", "A room.", "> look"]
    order += ["Reflection: Lesson 1.", "Trial 2:", "In the prompt: reflections on trial 1."]
    order += ["The first 3 steps are those of trial 1.", "Trial 3:", "In the prompt: reflections on trials 1 and 2."]
    order += ["The first step is that of trial 2.", "> take cup", "You have a cup."]
    order += ["Trial 4: verdict: accepted, truth: solved"]
    places = [text.find(said) for said in order]
    assert -1 not in places
    assert places == sorted(places)
    assert "No prompts are recorded" in " ".join(text.split())


def test_an_answer_of_an_agent_counts_no_actions_and_is_not_called_wrong_where_the_truth_is_not_known(tmp_path):
    rows = [row("a", 1, None, False, stop_reason="terminated", actions=0)]
    rows += [row("a", 2, None, False, stop_reason="terminated", actions=2)]
    trials = trials_of_run(folder(tmp_path / "run", rows, ["a"], actor="agent", evaluator="agent.py:check"), "a")
    first, second = (view.outcome for view in trials.views)
    assert first == "verdict: not accepted, truth: not known"
    assert second == "verdict: not accepted, truth: not known, 2 actions"


def test_the_settings_above_trials_break_between_two_of_them(tmp_path):
    trials = trials_of_run(folder(tmp_path / "run", [row("a", 1, True)], ["a"]), "a")
    above, _, _ = printed(trials, 50).partition("No prompts")
    settings = [line.strip() for line in above.splitlines()[1:]]
    assert len(settings) > 2
    assert not [line for line in settings if line.startswith("·") or line.endswith("·")]
    assert " · ".join(settings).endswith("actor react · profile paper · oracle · seed 0 · version not recorded")


def test_two_runs_are_shown_side_by_side_with_the_first_difference_marked(tmp_path):
    def trials(name, *done):
        recorded = [steps("a", 1, *done), steps("a", 2, TAKE)]
        rows = [row("a", 1, False), row("a", 2, True)]
        return trials_of_run(folder(tmp_path / name, rows, ["a"], trajectories=recorded), "a")

    beside = trials("one", LOOK, GO, GO).beside(trials("other", LOOK, GO, TAKE))
    left, right = beside._repr_html_().split("<section>")[1:]
    assert left.count("&gt; go") == 2
    assert left.count('class="differs"') == right.count('class="differs"') == 1
    assert "The first 2 steps are those on the left." in right
    assert "&gt; go" not in right
    assert right.index('class="differs"') < right.index("&gt; take cup")
    assert repr(beside) == f"{beside.one!r}\n{beside.other!r}"


def test_texts_are_neither_markup_nor_terminal_commands(tmp_path):
    done = steps("a", 1, (HOSTILE, HOSTILE, HOSTILE), ("", "x", f"{HOSTILE}\n" * 30), observation=HOSTILE)
    rows = [row("a", 1, False, reflection=HOSTILE, notes=[HOSTILE], fault=HOSTILE, stop_reason=HOSTILE)]
    trials = trials_of_run(folder(tmp_path / "run", rows, ["a"], trajectories=[done], model=HOSTILE), "a")
    shown = "<script>alert(1)</script>␛[2J[bold]\\u202e␀\\u009b\ufffd"
    html, text = trials._repr_html_() + trials.beside(trials)._repr_html_(), printed(trials, 200)
    assert "<script>" not in html
    assert html.count(f"{shown.replace('<', '&lt;').replace('>', '&gt;')} … (31 lines)</summary>") == 2
    assert text.count(shown) > 35
    assert not set(html + text + repr(trials)) & set("\x1b\u202e\x00\x9b\ud800")
    assert printable("\ufffe\uffff") == "\\ufffe\\uffff", "XML forbids these"
    assert printable("one\n\ttwo ünï 日本 😀") == "one\n\ttwo ünï 日本 😀"


@pytest.mark.parametrize(
    ("task", "trial", "said"),
    [
        ("4", 1, "no task '4'.*'a', or a number from 1 to 3"),
        ("a", 9, "1, 2, 3, 4"),
        ("b", 1, "yet"),
        ("c", 1, "c ended by an error: ValueError: odd .*errors.log"),
    ],
)
def test_missing_tasks_and_trials_are_named(tmp_path, task, trial, said):
    path = run_folder(tmp_path / "run")
    info = json.loads((path / "run.json").read_text())
    (path / "run.json").write_text(json.dumps(info | {"tasks": ["a", "b", "c"], "errors": {"c": "ValueError: odd"}}))
    with pytest.raises(ConfigurationError, match=said):
        trials_of_run(path, task)[trial]
