"""What a run uses is counted, also where the kernel's plain figures do not show it."""

import mmap
import os
import select
import socket
import sys
import time

from langgraph_reflexion.envs.sandbox import Limits
from langgraph_reflexion.envs.sandbox.helper import keep, watch, wire
from langgraph_reflexion.envs.sandbox.helper.plan import Streams

MB = 1 << 20


def test_cpu_time_of_processes_that_have_ended_is_kept():
    ledger = watch.Ledger()
    assert ledger.add([watch.Process(7, 100, 1.0), watch.Process(8, 100, 0.5)]) == 1.5
    assert ledger.add([watch.Process(8, 100, 0.75)]) == 1.75
    # The number is used again.
    assert ledger.add([watch.Process(7, 200, 0.25)]) == 2.0
    assert ledger.add([]) == 2.0


def test_shared_memory_counts_when_it_is_in_no_table():
    with mmap.mmap(-1, 80 * MB) as held:
        for at in range(0, 80 * MB, MB):
            held[at : at + MB] = b"x" * MB
        held.madvise(mmap.MADV_DONTNEED)
        assert watch.unmapped([os.getpid()]) >= 80 * MB
        assert watch.use_of([os.getpid()]).memory >= 80 * MB
        assert watch.proportional([os.getpid()]) >= 80 * MB
    assert watch.unmapped([os.getpid()]) < 80 * MB


def test_what_ranges_cover_counts_once():
    assert watch._covered([(0, 10), (5, 20), (30, 40), (32, 35)]) == 30


def test_files_are_counted_past_a_process_that_has_ended(bubblewrap):
    source = "import os, time\nos.fork() == 0 and os._exit(0)\ntime.sleep(.1)\n"
    source += "for n in range(600): open(f'n{n}', 'w').close()\ntime.sleep(3)"
    assert bubblewrap.run([sys.executable, "-c", source], limits=Limits(files=300, wall=10)).status == "files"
    # The host's own are nobody's.
    assert watch.inodes([os.getpid()], "/tmp") == 0


def test_looking_that_takes_long_is_not_put_off(sandbox):
    # 25 processes with many maps each are slow to look at; a burst after that has to be seen all the same.
    source = (
        "import mmap, os, time\nheld = [mmap.mmap(-1, 4096, prot=1 + 2 * (n % 2)) for n in range(8000)]\n"
        "for _ in range(25): os.fork() == 0 and (time.sleep(5), os._exit(0))\ntime.sleep(1)\n"
        "x = bytearray(b'y') * (300 << 20)\ntime.sleep(2)\nos.write(3, b'unseen')"
    )
    limits = Limits(memory=256 * MB, processes=40, wall=20, cpu=20)
    done = sandbox.run([sys.executable, "-c", source], limits=limits)
    assert (done.status, done.result) == ("memory", b"")


def test_what_the_agent_still_says_does_not_take_the_report_from_it():
    # The agent may find too much output when the run is over, and say so to a helper that does not listen any more.
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    nothing = [os.open(os.devnull, os.O_RDWR) for _ in range(5)]
    limits = {"wall": 9, "cpu": 9, "memory": MB << 8, "processes": 9, "descriptors": 64, "disk": MB, "files": 99}
    request = {
        "backend": "unsafe-bare-host",
        "argv": ["/bin/true"],
        "env": {},
        "visible": [],
        "binds": [],
        "cwd": None,
    }
    request |= {"files": [], "collect": [], "limits": limits, "network": False, "fork": True, "role": "program"}
    request |= {"tool": "", "image": "", "inherit": False}
    sent = wire.dump(request, [])
    child = os.fork()
    if child == 0:
        ours.close()
        say = wire.send
        wire.send = lambda *said: (say(*said), time.sleep(0.3))
        keep.keep(Streams(theirs.fileno(), sent, *nothing), [])
        os._exit(0)
    theirs.close()
    select.select([ours], [], [])
    ours.send(b"o")
    time.sleep(0.6)
    assert wire.receive(ours)["exit"] == 0
    ours.close()
    assert os.waitpid(child, 0)[1] == 0
    for number in (*nothing, sent):
        os.close(number)
