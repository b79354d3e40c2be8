"""Usage is measured even if a program hides it."""

import sys

from langgraph_reflexion.envs.sandbox import Limits

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
