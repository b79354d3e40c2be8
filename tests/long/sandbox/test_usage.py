"""Usage is measured even if a program hides it, and reports are never lost."""

import os
import select
import socket
import sys
import time

from langgraph_reflexion.envs.sandbox import Limits
from langgraph_reflexion.envs.sandbox.helper import protocol, supervisor
from langgraph_reflexion.envs.sandbox.helper.launch import Streams

MB = 1 << 20


def test_files_are_counted_behind_an_ended_process(bubblewrap):
    source = "import os, time\nos.fork() == 0 and os._exit(0)\ntime.sleep(.1)\n"
    source += "for n in range(600): open(f'n{n}', 'w').close()\ntime.sleep(3)"
    assert bubblewrap.run([sys.executable, "-c", source], limits=Limits(files=300, wall=10)).status == "files"


def test_slow_sampling_stays_frequent(sandbox):
    # 25 processes with many maps each are slow to sample; a burst afterwards must still be seen.
    source = (
        "import mmap, os, time\nheld = [mmap.mmap(-1, 4096, prot=1 + 2 * (n % 2)) for n in range(8000)]\n"
        "for _ in range(25): os.fork() == 0 and (time.sleep(5), os._exit(0))\ntime.sleep(1)\n"
        "x = bytearray(b'y') * (300 << 20)\ntime.sleep(2)\nos.write(3, b'unseen')"
    )
    limits = Limits(memory=256 * MB, processes=40, wall=20, cpu=20)
    done = sandbox.run([sys.executable, "-c", source], limits=limits)
    assert (done.status, done.result) == ("memory", b"")


def test_late_message_of_the_agent_does_not_discard_the_report():
    # The agent may report a flood to a supervisor that no longer reads.
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    nothing = [os.open(os.devnull, os.O_RDWR) for _ in range(5)]
    limits = {"wall": 9, "cpu": 9, "memory": MB << 8, "processes": 9, "descriptors": 64, "disk": MB, "files": 99}
    request = protocol.request("unsafe-bare-host", ["/bin/true"], limits)
    sent = protocol.dump(request, [])
    child = os.fork()
    if child == 0:
        ours.close()
        say = protocol.send
        protocol.send = lambda *said: (say(*said), time.sleep(0.3))
        supervisor.supervise(Streams(theirs.fileno(), sent, *nothing), [])
        os._exit(0)
    theirs.close()
    select.select([ours], [], [])
    ours.send(b"o")
    time.sleep(0.6)
    assert protocol.receive(ours)["exit"] == 0
    ours.close()
    assert os.waitpid(child, 0)[1] == 0
    for number in (*nothing, sent):
        os.close(number)
