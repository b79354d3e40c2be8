"""What is given to a run: what is wrong is said beforehand, and what an earlier run has left does no harm."""

import asyncio
import contextlib
import json
import os
import resource
import socket
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import pytest

from langgraph_reflexion import ConfigurationError, EnvironmentFault, EnvironmentUnavailable
from langgraph_reflexion.envs.sandbox import Bind, Limits, Policy, Sandbox, WarmPython, launcher
from langgraph_reflexion.envs.sandbox.archive import Names, unpack
from langgraph_reflexion.envs.sandbox.exchange import _reported
from langgraph_reflexion.envs.sandbox.helper import wire
from langgraph_reflexion.envs.sandbox.helper.bubblewrap import Bubblewrap, archive, limited

PYTHON = [sys.executable, "main.py"]


@pytest.mark.parametrize("way", ["/oldroot", "/../../../../oldroot", "../../../../../../oldroot"])
def test_links_of_an_earlier_run_do_not_lead_files_to_the_host(bubblewrap, tmp_path, way):
    work, outside = tmp_path / "work", tmp_path / "outside"
    work.mkdir()
    outside.mkdir(mode=0o777)
    outside.chmod(0o777)
    policy = Policy(binds=(Bind(work, writable=True),))
    source = f"import os; os.symlink('{way}{outside}/file', 'main.py'); os.symlink('{way}{outside}', 'folder')"
    assert bubblewrap.run([sys.executable, "-c", source], cwd=work, policy=policy).status == "ok"
    done = bubblewrap.run(["cat", "main.py"], files={"main.py": "theirs"}, cwd=work, policy=policy)
    assert done.text == "theirs"
    with contextlib.suppress(EnvironmentFault):
        bubblewrap.run(["true"], files={"folder/file": "theirs"}, cwd=work, policy=policy)
    assert list(outside.iterdir()) == []


def test_a_bind_is_not_led_astray_by_a_link_in_a_writable_one(sandbox, tmp_path):
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "data").symlink_to("/etc")
    policy = Policy(binds=(Bind(tmp_path / "work", writable=True), Bind(tmp_path / "work" / "data")))
    with pytest.raises(ConfigurationError, match="a link leads it out"):
        sandbox.run(["true"], policy=policy)


def test_no_option_of_bubblewrap_comes_from_a_nul(bubblewrap):
    request = bubblewrap.request(["true"], (), (), None, Limits(), Policy())
    request["env"]["A"] = "x\0--ro-bind\0/\0/tmp/host"
    with pytest.raises(ValueError, match="NUL"):
        Bubblewrap(request, [], None).arguments(7)


@pytest.mark.parametrize(
    ("argv", "options", "words"),
    [
        ("true", {}, "a list of words"),
        ([""], {}, "needs a command"),
        ([b"true"], {}, "not bytes"),
        ([Path("/bin/true")], {}, "not PosixPath"),
        (["true", "a\0b"], {}, "a NUL"),
        (["true", "x" * (1 << 17)], {}, "at most 131071"),
        (["true", "\ud800"], {}, "UTF-8"),
        (["true"], {"policy": Policy(env={"A": "x\0--ro-bind\0/\0/tmp/h"})}, "the variable A: .* a NUL"),
        (["true"], {"policy": Policy(env={"A\0": "x"})}, "a NUL"),
        (["true"], {"policy": Policy(env={"": "x"})}, "no name of an environment variable"),
        (["true"], {"policy": Policy(env={"A=B": "x"})}, "no name of an environment variable"),
        (["true"], {"policy": Policy(env={"A": 1})}, "not int"),
        (["true"], {"files": {"a": None}}, "a: give text or bytes"),
        (["true"], {"files": {"a": "\udc80"}}, "a: this text"),
        (["true"], {"files": {"": "x"}}, "no name within"),
        (["true"], {"files": {"a\0b": "x"}}, "a NUL"),
        (["true"], {"files": {"a": "x", "a/b": "x"}}, "is below 'a'"),
        (["true"], {"files": {"a/b": "x", "a": "x"}}, "is a folder of another file"),
        (["true"], {"files": {"n" * 256: "x"}}, "too long"),
        (["true"], {"files": {"n/" * 101 + "n": "x"}}, "too long"),
        (["true"], {"stdin": 5}, "stdin: give text"),
        (["true"], {"collect": "abc"}, "a list of words"),
        (["true"], {"collect": [""]}, "no name within"),
        (["true"], {"cwd": Path("x")}, "absolute"),
        (["true"], {"cwd": Path("/var")}, "not there inside"),
        (["true"], {"cwd": Path("/a\0b")}, "a NUL"),
        (["true"], {"policy": Policy(binds=(Bind(Path("/tmp")),))}, "for its own"),
        (["true"], {"policy": Policy(binds=(Bind(Path("/dev/shm")),))}, "for its own"),
    ],
)
def test_what_no_run_could_be_given_is_refused(sandbox, argv, options, words):
    with pytest.raises(ConfigurationError, match=words):
        sandbox.run(argv, **options)


def test_a_path_with_a_nul_is_refused():
    with pytest.raises(ConfigurationError, match="a NUL"):
        Sandbox("unsafe-bare-host", path="/bin\0x").run(["true"])


def test_a_folder_to_begin_in_has_to_exist(sandbox, tmp_path):
    with pytest.raises(ConfigurationError, match="no such folder"):
        sandbox.run(["true"], cwd=tmp_path / "no", policy=Policy(binds=(Bind(tmp_path),)))


@pytest.mark.parametrize(
    "limit",
    [
        *({"wall": value} for value in (0, -1, float("nan"), float("inf"), "5", True)),
        *({"cpu": value} for value in (0, -1, float("nan"), float("inf"), None)),
        *({"memory": value} for value in (0, -1, 1 << 62, 1.5e9)),
        *({name: value} for name in ("processes", "descriptors", "disk", "files") for value in (0, -5, 1 << 70)),
        *({name: -1} for name in ("output", "result")),
        {"output": 0},
        {"descriptors": 2},
    ],
    ids=str,
)
def test_a_limit_with_which_nothing_could_run_is_refused(limit):
    with pytest.raises(ConfigurationError, match=f"Limits.{next(iter(limit))}="):
        Limits(**limit)
    with pytest.raises(ConfigurationError, match=f"Limits.{next(iter(limit))}=a huge number"):
        Limits(**dict.fromkeys(limit, 10**4200))


def test_a_limit_above_the_hosts_own_is_the_hosts(sandbox):
    source = "import resource; print(resource.getrlimit(resource.RLIMIT_NOFILE)[1])"
    done = sandbox.run([sys.executable, "-c", source], limits=Limits(descriptors=1 << 30))
    assert int(done.text) == resource.getrlimit(resource.RLIMIT_NOFILE)[1]


def test_the_default_limits_do_where_the_host_allows_less():
    code = "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200))\n"
    code += "from langgraph_reflexion.envs.sandbox.helper.bubblewrap import limited\nprint(*limited({'nofile': 256}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["/usr/bin/prlimit", "--nofile=200:200", "--"]
    assert limited({}) == ["/usr/bin/prlimit", "--"]


@pytest.mark.parametrize("collect", [[], ["x"]])
def test_limits_that_cannot_be_set_are_a_fault(bubblewrap, monkeypatch, collect):
    monkeypatch.setattr(Limits, "__post_init__", lambda self: None)
    with pytest.raises(EnvironmentFault, match="did not start"):
        bubblewrap.run(["true"], limits=Limits(descriptors=-7, cpu=1e30), collect=collect)


def test_files_that_a_hostile_run_has_left_are_given_to_the_next(sandbox):
    source = (
        "import os\nos.mkdir('o')\nfor i in range(2000): open(f'o/{i}', 'w').close()\n"
        "open(b'o/\\xff\\xfe', 'w').write('x'); open('o/a\\nb', 'w').write('y')\n"
        "for i in range(99): os.mkdir('d' * 45); os.chdir('d' * 45)\nopen('x', 'w').write('q')"
    )
    done = sandbox.run(PYTHON, files={"main.py": source}, collect=["."])
    assert (done.status, done.errors) == ("ok", "")
    assert len(done.files) == 2003
    again = sandbox.run(["sh", "-c", "ls o | wc -l; cat o/a*"], files=done.files)
    assert again.text == "2003\ny"


def test_a_run_without_processes_is_given_files_as_well(bubblewrap, tmp_path):
    policy = Policy(fork=False, binds=(Bind(tmp_path, writable=True),))
    files = {f"f{number}": "x" for number in range(150)}
    assert len(bubblewrap.run(["ls"], files=files, policy=policy).text.split()) == 150
    for options in ({"files": files, "cwd": tmp_path}, {"files": {f"{name}{n}": "" for name in files for n in "ab"}}):
        with pytest.raises(ConfigurationError, match="at most 200 files"):
            bubblewrap.run(["ls"], policy=policy, **options)


def test_a_hard_link_is_collected_as_a_file(sandbox):
    source = "import os; open('a', 'w').write('hi'); os.link('a', 'b')"
    done = sandbox.run(PYTHON, files={"main.py": source}, collect=["a", "b"])
    assert done.files == {"a": b"hi", "b": b"hi"}


def test_an_archive_of_headers_without_end_has_nothing_in_it():
    header = tarfile.TarInfo("././@LongLink")
    header.type, header.size = b"L", 5
    chain = (header.tobuf(tarfile.GNU_FORMAT) + b"aaaa\0".ljust(512, b"\0")) * 3000
    assert unpack(chain, ["."]) == {}
    negative = bytearray(tarfile.TarInfo("a").tobuf(tarfile.GNU_FORMAT))
    negative[124:136] = b"\xff" * 12
    assert unpack(bytes(negative) * 2, ["."]) == {}


def test_of_names_that_cannot_be_there_together_the_first_is_taken():
    names = ["a", "a/b", "c/d", "c", "a", "n" * 200 + "/m", "o/" * 40 + "p" * 250, "q/" * 120 + "q"]
    made = archive(names, [name.encode() for name in names])
    taken = ["a", "c/d", "n" * 200 + "/m", "o/" * 40 + "p" * 250]
    assert unpack(made, ["."]) == {name: name.encode() for name in taken}
    assert unpack(made[:512], ["."]) == {}
    possible = Names()
    assert [bool(possible.add(name)) for name in ("x", "x", "x/y", "../x", "", ".")] == [False, False, *[True] * 4]


def test_a_program_that_only_the_host_has_is_not_there(sandbox, tmp_path):
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\necho there\n")
    program.chmod(0o755)
    policy = Policy(binds=(Bind(tmp_path),))
    for argv in ([str(program)], ["./program"], ["/usr/bin"], ["/no/such"]):
        with pytest.raises(EnvironmentUnavailable, match="no such program inside"):
            sandbox.run(argv)
    with pytest.raises(EnvironmentUnavailable, match="no such program on"):
        sandbox.run(["program"], policy=Policy(env={"PATH": str(tmp_path)}))
    assert sandbox.run([str(program)], policy=policy).text == "there\n"
    assert sandbox.run(["./program"], policy=policy, cwd=tmp_path).text == "there\n"
    assert sandbox.run(["./program"], files={"program": program.read_bytes()}).text == "there\n"


async def test_a_task_that_is_cancelled_when_its_run_has_just_ended_is_cancelled(sandbox):
    task = asyncio.create_task(sandbox.arun(["true"]))
    await asyncio.sleep(0.01)
    time.sleep(1)  # noqa: ASYNC251 - the loop is busy while the run ends
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_a_report_is_read_although_the_other_side_has_gone():
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours:
        wire.send(theirs, {"fault": "x"})
        ours.send(b"o")
        theirs.close()
        assert _reported(ours) == {"fault": "x"}
        assert _reported(ours) is None


def test_a_request_that_is_too_long_does_not_end_the_interpreter(bubblewrap):
    with WarmPython(bubblewrap) as python:
        assert python.run("print(1)").text == "1\n"
        reading, writing = os.pipe()
        python._running().helper.request({"memory": 10**4200}, [writing] * 7)
        os.close(writing)
        assert os.read(reading, 1) == b""  # it has let go of it
        os.close(reading)
        assert python.run("print(2)").text == "2\n"
        with pytest.raises(ConfigurationError, match="a list of words"):
            python.run("", arguments="abc")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root changes the owner of anything")
def test_the_callers_own_streams_keep_their_owner(bubblewrap):
    code = "import os, sys, warnings\nfrom langgraph_reflexion.envs.sandbox import Sandbox\n"
    code += "Sandbox('bubblewrap').run(['echo', 'x'], inherit=True); print(os.fstat(1).st_uid)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "x\n0\n"


def test_a_sandbox_that_was_named_is_named_where_it_does_not_work(monkeypatch):
    monkeypatch.setenv("PATH", "/no/such")
    with pytest.raises(EnvironmentUnavailable, match=r"^the sandbox podman does not work here"):
        Sandbox("podman", image=json.dumps(str(launcher.PACKAGE)))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--wall", "0"], "--wall"),
        (["--wall=-3"], "--wall"),
        (["--memory", "0"], "--memory"),
        (["--workspace", ""], "--workspace ''"),
        (["--workspace", "."], "--workspace ."),
    ],
)
def test_a_wrong_option_is_one_line(tmp_path, options, words):
    folder = tmp_path / "gone"
    folder.mkdir()
    code = "import os, sys; os.rmdir(os.getcwd())\nfrom langgraph_reflexion.cli import main; main()"
    command = [sys.executable, "-c", code, "sandbox", "exec", *options, "--", "true"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert words in done.stderr
    assert "Traceback" not in done.stderr
