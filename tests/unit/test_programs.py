import pytest

from langgraph_reflexion.errors import EnvironmentUnavailable
from langgraph_reflexion.support.programs import expect_program


@pytest.mark.parametrize(
    ("command", "status"),
    [
        ("pytestt -q", None),
        ("env A=1 B=2 pytestt", None),
        ("pytestt -q", 127),
        ("pytestt && true", 127),
        ("A=1 B='x y' C=$HOME pytestt>log", None),
        ("pytestt\n", None),
        (f'CLASSPATH="{":".join(f"$ROOT/lib{n}.jar" for n in range(40))}" pytestt', None),
    ],
)
def test_a_missing_program_is_no_verdict(command, status):
    with pytest.raises(EnvironmentUnavailable, match="there is no program pytestt"):
        expect_program(command, "/usr/bin:/bin", status)


OTHERS = [
    (command, None) for command in ("grep -q x", "cd folder", "! grep x", "A=1", "A=$(echo x y) true", "2>log x")
]
OTHERS += [(command, 127) for command in ("./pytestt", "PATH=bin:$PATH pytestt", "true && pytestt", "(pytestt)")]
OTHERS += [
    ("echo '", 127),
    ('A="' + "$ROOT/x:" * 40 + '$(y)" z', 127),
    ("A=`x y` ./z", 127),
    ("pytestt -q", 1),
    ("pytestt; true", None),
]


@pytest.mark.parametrize(("command", "status"), OTHERS)
def test_any_other_command_decides(command, status):
    expect_program(command, "/usr/bin:/bin", status)


def test_a_relative_folder_of_the_path_may_be_part_of_the_work(monkeypatch):
    monkeypatch.setenv("PATH", "node_modules/.bin:/usr/bin:/bin")
    expect_program("pytestt")


def test_a_script_needs_its_interpreter(tmp_path):
    script = tmp_path / "tool"
    script.write_text(f"#! {tmp_path}/venv/bin/python -I\n")
    script.chmod(0o755)
    with pytest.raises(EnvironmentUnavailable, match=r"tool needs .*/venv/bin/python, which does not exist"):
        expect_program("tool", f"{tmp_path}:/usr/bin:/bin")
