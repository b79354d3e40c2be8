"""Each layout of the original's logs as rows."""

import pickle
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.bench.test_replay import FINISHED, HEADER, MAYOR, RIVER, TOWER, cot, react, trial
from tests.bench.upstream.clone import (
    HARD,
    HUMANEVAL,
    LEET,
    problem,
    simple,
    with_tests,
    write_env_results,
    write_problems,
)
from tests.bench.upstream.logs import ALFWORLD, HOTPOTQA, NAMELESS, PROGRAMMING, ROOT, curve, imported, only


def test_reflections_of_alfworld_stand_behind_the_trial_that_failed(tmp_path: Path) -> None:
    write_env_results(tmp_path / "clone" / ALFWORLD, [1, 1, 2], 3)
    settings, trials, trajectories, notes = only(imported(tmp_path))
    told = [(row["task_id"], row["trial"], row["success"], row["reflection"]) for row in trials]
    assert told == [
        ("env_0", 1, True, None),
        *[("env_1", number, False, f"Lesson {number - 1} of 1: Brise Bay, étape.") for number in (1, 2)],
        ("env_1", 3, True, None),
        *[("env_2", number, False, f"Lesson {number - 1} of 2: Brise Bay, étape.") for number in (1, 2, 3)],
    ]
    assert [row["steps"] for row in trajectories] == [[]] * 7
    assert settings["reflection_model"] == "text-davinci-003"
    assert notes == ["3 environments, where alfworld has 134"]


def test_steps_and_reflections_of_react(tmp_path: Path) -> None:
    lessons = ["Look for the bay.", "Look for its mayors."]
    text = trial(1, (1, 1, 1), [react(RIVER, "Tavel")], [react(MAYOR, "Nobody")], [react(TOWER, steps=6)])
    text += trial(
        2, (1, 2, 0), [react(RIVER, "Tavel")], [react(MAYOR, "Nobody", lessons[:1]), react(TOWER, "1872")], []
    )
    text += trial(
        3, (2, 1, 0), [react(RIVER, "Tavel"), react(MAYOR, "Ilse Kranz", lessons)], [react(TOWER, "1872")], []
    )
    path = tmp_path / "clone" / HOTPOTQA
    path.parent.mkdir(parents=True)
    path.write_text(text, encoding="utf-8")
    settings, trials, trajectories, _ = only(imported(tmp_path))
    told = [(row["trial"], row["stop_reason"], row["actions"], row["reflection"]) for row in trials]
    assert told == [
        (1, "terminated", 2, None),
        (1, "terminated", 2, lessons[0]),
        (2, "terminated", 2, lessons[1]),
        (3, "terminated", 2, None),
        (1, "truncated", 6, None),
        (2, "terminated", 2, None),
        (3, "terminated", 2, None),
    ]
    last = trajectories[0]["steps"][1]
    assert last["action"] == {"name": "finish", "args": {"answer": "Tavel"}, "text": "Finish[Tavel]"}
    assert (last["thought"], last["observation"]) == ("I look.", FINISHED[True])
    assert (settings["actor"], settings["strategy"], settings["max_trials"]) == ("react", "reflexion", 3)


def test_reflections_of_cot_with_context_stand_behind_the_observation(tmp_path: Path) -> None:
    before = "Context: Brise Bay is a town.\n\nIts first mayor was Ilse Kranz. "
    text = trial(1, (0, 1), wrong=[cot(MAYOR, "Nobody", "", before)])
    text += trial(2, (1, 0), [cot(MAYOR, "Ilse Kranz", "I read too fast.", before)])
    path = tmp_path / f"clone/hotpotqa_runs/{ROOT}/CoT/context/reflexion_gpt4/log.txt"
    path.parent.mkdir(parents=True)
    path.write_text(text, encoding="utf-8")
    settings, trials, trajectories, _ = only(imported(tmp_path))
    assert [(row["success"], row["reflection"]) for row in trials] == [(False, "I read too fast."), (True, None)]
    assert trajectories[0]["observation"].startswith("Brise Bay is a town.\n\nIts first mayor")
    assert (settings["actor"], settings["strategy"], settings["model"]) == ("cot-gt", "reflexion", "gpt-4")


def test_a_trial_in_whose_prompt_the_last_one_stands_is_read_behind_it(tmp_path: Path) -> None:
    before = f"Answer the question.\n{HEADER}\nQuestion: {MAYOR[0]}\nThought: Hm.\nAction: Finish[Nobody]\n"
    before += "Observation: Answer is INCORRECT\n(END PREVIOUS TRIAL)\n\nReflections:\n- I look it up.\n\n"
    text = trial(1, (0, 1), wrong=[cot(MAYOR, "Nobody", before="Answer the question.\n")])
    text += trial(2, (1, 0), [cot(MAYOR, "Ilse Kranz", before=before)])
    path = tmp_path / f"clone/hotpotqa_runs/{ROOT}/CoT/no_context/last_trial_and_reflexion/100_questions_5_trials.txt"
    path.parent.mkdir(parents=True)
    path.write_text(text, encoding="utf-8")
    settings, trials, trajectories, _ = only(imported(tmp_path))
    assert [(row["success"], row["reflection"]) for row in trials] == [(False, "I look it up."), (True, None)]
    assert [len(row["steps"]) for row in trajectories] == [1, 1]
    assert (settings["actor"], settings["strategy"]) == ("cot", "last_attempt_and_reflexion")


def test_solved_questions_without_what_was_done_count(tmp_path: Path) -> None:
    path = tmp_path / f"clone/hotpotqa_runs/{ROOT}/ReAct/reflexion/100_questions_trials_6_to_7.txt"
    path.parent.mkdir(parents=True)
    right = [react(RIVER, steps=0), react(MAYOR, "Ilse Kranz")]
    path.write_text(trial(6, (2, 0, 0), right, [], []) + trial(7, (2, 0, 0), right, [], []), encoding="utf-8")
    done = imported(tmp_path)
    assert curve(done) == [2, 2]
    settings, trials, _, notes = only(done)
    assert [(row["trial"], row["actions"]) for row in trials] == [(1, 0), (1, 2)]
    assert settings["imported"]["first_trial"] == 6
    assert any("listed without what was done" in note for note in notes)


@pytest.mark.parametrize("packed", [bytes, zlib.compress])
@pytest.mark.parametrize("lessons", [["Look up."], "['Look up.']"])
def test_dumped_agents_say_by_their_reflections_when_they_were_right(
    tmp_path: Path, packed: Callable[[bytes], bytes], lessons: Any
) -> None:
    scratchpad = "\nThought 1: Hm.\nAction 1: Search[Cask]\nObservation 1: A town.\n"
    right = {
        "question": RIVER[0],
        "key": RIVER[1],
        "answer": "the Tavel",
        "scratchpad": scratchpad,
        "reflections": [],
    }
    wrong = {"question": TOWER[0], "key": TOWER[1], "answer": "", "scratchpad": scratchpad, "reflections": lessons}
    later = {"question": MAYOR[0], "key": MAYOR[1], "answer": "Ilse Kranz", "scratchpad": "", "reflections": lessons}
    path = tmp_path / f"clone/hotpotqa_runs/{ROOT}/ReAct/reflexion/react_reflect_dicts.joblib"
    path.parent.mkdir(parents=True)
    path.write_bytes(packed(pickle.dumps([right, wrong, later, right, "no agent"])))
    done = imported(tmp_path)
    assert curve(done) == [1, 2]
    _, trials, trajectories, notes = only(done)
    assert [(row["success"], row["stop_reason"], row["reflection"]) for row in trials] == [
        (True, "terminated", None),
        (False, "not logged", "Look up."),
        (False, "truncated", None),
        (False, "not logged", "Look up."),
        (True, "terminated", None),
    ]
    assert trajectories[0]["steps"][0]["action"]["args"] == {"entity": "Cask"}
    assert "1 entries are no agent, and are left out" in notes
    assert "1 question listed twice: counted once, as listed first" in notes


def test_reflections_of_a_problem_and_its_last_implementation(tmp_path: Path) -> None:
    logged = [
        problem("HumanEval/0", True, 0),
        problem("HumanEval/1", True, 2),
        problem("HumanEval/2", True, 4),
        problem("HumanEval/3", False, 4),
        problem("HumanEval/4", False, 1),
    ]
    write_problems(tmp_path / "clone" / PROGRAMMING, logged)
    settings, trials, trajectories, _ = only(imported(tmp_path))
    told = [(row["verdict"], row["success"], row["actions"]) for row in trials]
    assert told == [(True, True, 1), (True, True, 3), (False, True, 5), (False, False, 5), (True, False, 2)]
    steps = trajectories[1]["steps"]
    assert [step["thought"] for step in steps] == ["", "Lesson 0.", "Lesson 1."]
    assert [step["action"]["text"] for step in steps] == ["", "", "    return a + b"]
    assert [row["measures"] for row in trials][1] == {"reflections": 2.0}
    assert (settings["model"], settings["imported"]["benchmark"]) == ("gpt-4", "humaneval-py")


@pytest.mark.parametrize(
    ("name", "made", "expected"),
    [
        (
            "simple_test_run/simple_1_text-davinci-003_pass_at_k_1.jsonl",
            simple(HUMANEVAL, 96, 164),
            ([96], "humaneval-py", "retry", "text-davinci-003", []),
        ),
        (
            "reflexion_ucs_plays_with_the_ferris_crab_2/reflexion-ucs_5_gpt-4_pass_at_k_1_rs.jsonl",
            [problem(HARD.format(each), each < 135, 1, language="rs") for each in range(156)],
            ([135], "humaneval-rs", "reflexion-ucs", "gpt-4", []),
        ),
        (
            "testacc_humaneval_py/humaneval-py..gz_test-acc_1_gpt-4_pass_at_k_1_py.jsonl",
            [problem(HUMANEVAL.format(e), e < 96, solution=["assert add(1, 1) == 2"] * 5) for e in range(164)],
            ([96], "humaneval-py", "test-acc", "gpt-4", []),
        ),
        (
            "simple_humaneval_py_hardest50/humaneval-py_hardest50._simple_1_gpt-4_pass_at_k_1_py.jsonl",
            simple(HUMANEVAL, 35, 50),
            ([35], "humaneval-py-hardest50", "retry", "gpt-4", []),
        ),
        (
            "reflexion_mbpp_py3/mbpp-py._reflexion_5_gpt-4_pass_at_k_1_py.jsonl",
            with_tests("mbpp_{}_sum", (150, 190), (54, 67), 4),
            ([204], "mbpp-py", "reflexion", "gpt-4", [
                "257 problems, where mbpp-py has 397",
                "in none of the papers' tables, as it holds the first 257 problems of 397",
            ]),
        ),
        (
            "reflexion_leetcode_rs_gpt4_react_constraints_visible/"
            "leetcode-hard-rs-40-uncontaminated_tests._reflexion_5_gpt-4_pass_at_k_1_rs.jsonl",
            with_tests(LEET, (1, 5), (1, 35), 4),
            ([2], "leetcode-rs", "reflexion", "gpt-4", []),
        ),
        (
            "leetcode_metadata/2023-04-16_22-59-10",
            [{"name": f"sum-{each}", "status": "Accepted" if each < 6 else "Wrong Answer", "reward": each < 6}
             for each in range(40)],
            ([6], "leetcode-submissions", "not logged", "not logged", [NAMELESS]),
        ),
        (
            "leetcode_metadata/2023-04-17_20-26-20",
            [{"code": "x", "status": "Accepted" if each < 4 else "Runtime Error", "reward": each < 4}
             for each in range(40)],
            ([4], "leetcode-submissions", "not logged", "not logged", [NAMELESS]),
        ),
    ],
)  # fmt: skip
def test_other_layouts_of_programming_logs(
    tmp_path: Path, name: str, made: list[dict[str, Any]], expected: tuple[Any, ...]
) -> None:
    write_problems(tmp_path / "clone/programming_runs/root" / name, made)
    done = imported(tmp_path)
    settings, _, _, notes = only(done)
    about = settings["imported"]["benchmark"], settings["strategy"], settings["model"]
    assert (curve(done), *about, notes) == expected


def test_tests_without_reflection_leave_no_verdict(tmp_path: Path) -> None:
    # The original writes an empty list of reflections for each problem there, passed or not.
    name = "humaneval-rs-hardest50._immediate-refinement_5_gpt-4_pass_at_k_1_rs.jsonl"
    folder = tmp_path / "clone/programming_runs/root/immediate_refinement_humaneval_rs_hardest50"
    write_problems(folder / name, [problem(HARD.format(each), each < 30, 0) for each in range(50)])
    settings, trials, _, _ = only(imported(tmp_path))
    assert [row["verdict"] for row in trials] == [None] * 50
    assert (settings["evaluator"], sum(bool(row["success"]) for row in trials)) == ("tests", 30)
