import pytest

from langgraph_reflexion.errors import EnvironmentUnavailable
from langgraph_reflexion.programs import expect_program


@pytest.mark.parametrize(
    ("command", "status"),
    [
        ("pytestt -q", None),
        ("env A=1 B=2 pytestt", None),
        ("pytestt -q", 127),
        ("pytestt && true", 127),
        ("pytestt", 126),
    ],
)
def test_a_missing_program_is_no_verdict(command, status):
    with pytest.raises(EnvironmentUnavailable, match="there is no program pytestt"):
        expect_program(command, "/usr/bin:/bin", status)


@pytest.mark.parametrize(
    ("command", "status"),
    [
        *((command, None) for command in ("grep -q x", "cd folder", "! grep x", "A=1")),
        *(
            (command, 127)
            for command in ("./pytestt", "PATH=bin:$PATH pytestt", "true && pytestt", "(pytestt)", "echo '")
        ),
        ("pytestt -q", 1),
        ("pytestt; true", None),
    ],
)
def test_any_other_command_decides(command, status):
    expect_program(command, "/usr/bin:/bin", status)
