"""The hostile programs, and the backends that contain them: the source of the table in the documentation.

A program that reaches its target writes `LEAK` to the result descriptor; some are checked from outside instead.
`world.json` in its folder contains the targets on the host.
"""

# ruff: noqa: E501 - a program is easier to read in long lines than in pieces

from dataclasses import dataclass, field

from langgraph_reflexion.envs.sandbox import Limits

MB = 1 << 20
COLUMNS = (("bubblewrap", "root"), ("bubblewrap", "user"), ("landlock", "root"), ("landlock", "user"))
LIMITS = Limits(wall=8, cpu=8, memory=256 * MB, processes=32, descriptors=64, disk=16 * MB, files=500, result=4096)

BEGIN = """
import ctypes, errno, glob, json, mmap, os, resource, signal, socket, stat, subprocess, sys, threading, time
world = json.load(open("world.json"))
libc = ctypes.CDLL(None, use_errno=True)
MB = 1 << 20

def leak(what=""):
    os.write(3, f"LEAK {what}".encode())

def reads(path):
    with open(path, "rb") as file:
        if file.read():
            leak(path)
"""


@dataclass(frozen=True)
class Hostile:
    """One hostile program."""

    name: str
    source: str
    limits: Limits = LIMITS
    lets_through: tuple[str, ...] = ()
    """The backends that do not contain it, as `landlock`, or `landlock, user` for ordinary users only."""
    outside: str = ""
    """The check from outside: `late`, `daemon`, `shm`, `sysv`, `written` or `files`; by default the result descriptor."""
    bare: bool = False
    """Whether it gets through on the bare host, which shows that it works."""
    needs: list[str] = field(default_factory=list)


def within(seconds: float) -> Limits:
    return Limits(**{name: getattr(LIMITS, name) for name in LIMITS.__slots__} | {"wall": seconds})


TREE_CPU = Limits(wall=30, cpu=1, memory=256 * MB, processes=32, disk=16 * MB, files=500)

HOSTILE = [
    Hostile("an infinite loop", "while True: pass", within(1), outside="late"),
    Hostile("sleeping for ever", "time.sleep(1000)", within(1), outside="late"),
    Hostile(
        "every signal ignored",
        "for n in range(1, 65):\n    try: signal.signal(n, signal.SIG_IGN)\n    except (OSError, ValueError): pass\n"
        "while True: time.sleep(1)",
        within(1),
        outside="late",
    ),
    Hostile(
        "300 forks",
        "n = 0\nfor _ in range(300):\n    if os.fork() == 0:\n        time.sleep(5); os._exit(0)\n    n += 1\nleak(n)",
    ),
    Hostile("a heap of 3 GB", "x = bytearray(3000 * MB); leak()"),
    Hostile(
        "small maps to 1.9 GB",
        "held = []\nfor _ in range(1900 * 16):\n    m = mmap.mmap(-1, 65536); m[::4096] = b'x' * 16; held.append(m)\nleak()",
    ),
    Hostile("endless output", "while True: os.write(1, b'x' * 65536)", outside="late"),
    Hostile("one file of 64 MB", "f = open('big', 'wb')\nfor _ in range(64): f.write(bytes(MB)); f.flush()\nleak()"),
    Hostile(
        "100 files of 3 MB",
        "for n in range(100):\n    with open(f'f{n}', 'wb') as f: f.write(bytes(3 * MB))\nleak()",
        lets_through=("landlock",),
        bare=True,
    ),
    Hostile("the host's /etc/passwd", "len(open('/etc/passwd').readlines()) > 3 and leak()", bare=True),
    Hostile("a secret file", "reads(world['secret'])", bare=True),
    Hostile("a link to a secret file", "os.symlink(world['secret'], 'link'); reads('link')", bare=True),
    Hostile("a key in the agent's environment", "'SECRET_KEY' in os.environ and leak()"),
    Hostile(
        "the environment of other processes",
        "for path in glob.glob('/proc/[0-9]*/environ'):\n    try: b'SECRET_KEY' in open(path, 'rb').read() and leak(path)\n"
        "    except OSError: pass",
        bare=True,
    ),
    Hostile(
        "TCP to the host's loopback", "socket.create_connection(('127.0.0.1', world['tcp']), 1); leak()", bare=True
    ),
    Hostile(
        "UDP to the host's loopback",
        "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(1)\n"
        "s.sendto(b'x', ('127.0.0.1', world['udp'])); s.recv(10) and leak()",
        bare=True,
    ),
    Hostile("a unix socket of the host", "socket.socket(socket.AF_UNIX).connect(world['unix']); leak()", bare=True),
    Hostile(
        "an abstract socket of the host",
        "socket.socket(socket.AF_UNIX).connect('\\0' + world['abstract']); leak()",
        bare=True,
    ),
    Hostile("writing outside its folder", "open(world['outside'], 'w').write('x')", outside="written", bare=True),
    Hostile("a signal to a process of the host", "os.kill(world['victim'], 0); leak()", bare=True),
    Hostile("tracing a process of the host", "libc.ptrace(0x4206, world['victim'], 0, 0) == 0 and leak()"),
    Hostile(
        "a daemon that outlives it",
        "if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n"
        "        os.closerange(0, 64); os.execv('/bin/sh', ['sh', '-c', 'sleep 60; :', world['token']])\n    os._exit(0)\n"
        "time.sleep(0.3)",
        outside="daemon",
    ),
    Hostile("a user namespace of its own", "libc.unshare(0x10000000) == 0 and leak()", bare=True),
    Hostile(
        "12 MB in the host's shared memory",
        "open('/dev/shm/' + world['token'], 'wb').write(bytes(12 * MB))",
        outside="shm",
        bare=True,
    ),
    Hostile(
        "the list of the host's processes",
        "len([n for n in os.listdir('/proc') if n.isdigit()]) > 4 and leak()",
        bare=True,
    ),
    Hostile(
        "thousands of files",
        "for n in range(1500): open(f'n{n}', 'w').close()\nleak(); end = time.time() + 1\n"
        "while time.time() < end: n += 1; open(f'n{n}', 'w').close()",
        within(15),
        outside="files",
        lets_through=("landlock",),
        bare=True,
    ),
    Hostile(
        "inherited descriptors",
        "for n in range(4, 1024):\n    try: os.fstat(n); n > 4 and leak(n)\n    except OSError: pass",
    ),
    Hostile("a flood of results", "while True: os.write(3, b'x' * 4096)", outside="late"),
    Hostile(
        "memory in files that are nowhere",
        "held = []\nfor _ in range(25):\n    f = os.memfd_create('x')\n    for _ in range(15): os.write(f, bytes(MB))\nleak()",
        bare=True,
    ),
    Hostile(
        "memory spread over 8 processes",
        "for n in range(8):\n    if os.fork() == 0:\n        x = bytearray(60 * MB); time.sleep(5); os._exit(0)\ntime.sleep(2); leak()",
    ),
    Hostile(
        "CPU time spread over 4 processes",
        "for n in range(4):\n    if os.fork() == 0:\n        end = time.time() + 20\n        while time.time() < end: pass\n"
        "        os._exit(0)\nfor n in range(4): os.wait()\nleak()",
        TREE_CPU,
    ),
    Hostile(
        "300 threads",
        "for n in range(300): threading.Thread(target=time.sleep, args=(5,), daemon=True).start()\nleak()",
    ),
    Hostile(
        "killing everything",
        "os.fork() == 0 and os._exit(0)\ntry: os.kill(world['victim'], 15); leak()\nexcept OSError: os.kill(-1, 9)",
    ),
    Hostile("io_uring", "libc.syscall(425, 8, ctypes.create_string_buffer(120)) >= 0 and leak()"),
    Hostile("sockets to the virtual machine's host", "socket.socket(40, socket.SOCK_STREAM); leak()"),
    Hostile(
        "System V shared memory",
        "libc.shmget(world['key'], 1 << 20, 0o1666)",
        outside="sysv",
        bare=True,
    ),
    Hostile(
        "changing the interpreter",
        "for place in {sys.prefix, sys.base_prefix, os.path.dirname(sys.executable), '/usr/bin', '/usr/lib'}:\n"
        "    try: open(place + '/' + world['token'], 'w'); os.remove(place + '/' + world['token']); leak(place)\n"
        "    except OSError: pass",
    ),
    Hostile("raising its own limits", "resource.setrlimit(resource.RLIMIT_NPROC, (4096, 4096)); leak()"),
    Hostile("typing into the terminal", "import fcntl\nfcntl.ioctl(0, 0x5412, b'x'); leak()"),
    Hostile(
        "rights from setuid programs",
        "out = subprocess.run(['/bin/su', '-c', 'true'], capture_output=True).returncode\nout == 0 and leak()\n"
        "'NoNewPrivs:\\t1' in open('/proc/self/status').read() or leak('setuid programs work')",
    ),
    Hostile(
        "the agent's home",
        "[each for each in os.listdir(world['home']) if each == 'private'] and leak()",
        bare=True,
    ),
    Hostile(
        "kernel keys, BPF and performance counters",
        "for number, *rest in ((250, 0, -3, 0), (321, 0, 0, 0), (298, 0, 0, 0), (304, 0, 0, 0), (175, 0, 0, 0)):\n"
        "    if libc.syscall(number, *rest, 0) >= 0 or ctypes.get_errno() not in (1, 38): leak(number)",
        needs=["x86_64"],
    ),
    Hostile(
        "mounting",
        "(libc.mount(b'none', b'/tmp', b'tmpfs', 0, None) == 0 or libc.syscall(430, b'tmpfs', 0) >= 0) and leak()",
    ),
    Hostile(
        "the host's name",
        "os.uname().nodename == world['name'] and leak()",
        lets_through=("landlock",),
        bare=True,
    ),
    Hostile("a sparse file of a terabyte", "open('x', 'wb').truncate(1 << 40); leak()"),
    Hostile(
        "limits of processes of the host",
        "for pid in (world['victim'], world['agent']):\n    try: resource.prlimit(pid, resource.RLIMIT_CORE, (0, 0)); leak(pid)\n"
        "    except OSError: pass",
        bare=True,
    ),
    Hostile(
        "the priority of processes of the host",
        "for change in (lambda: os.setpriority(os.PRIO_PROCESS, world['victim'], 1),\n"
        "               lambda: os.sched_setaffinity(world['victim'], os.sched_getaffinity(0)),\n"
        "               lambda: os.sched_setscheduler(world['victim'], os.SCHED_BATCH, os.sched_param(0))):\n"
        "    try: change(); leak()\n    except OSError: pass",
        bare=True,
    ),
    Hostile(
        "unix sockets of the host, out of a pair of datagram sockets",
        "one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)\n"
        "for name in (world['datagram'], '\\0' + world['abstract'] + '-datagram'):\n"
        "    try: one.sendto(b'x', name); leak(name)\n    except OSError: pass",
        bare=True,
    ),
    Hostile(
        "a setuid file",
        "def holds(): return any(os.lstat(name).st_mode & 0o6000 for name in os.listdir('.') if os.path.isfile(name))\n"
        "open('x', 'w').close()\n"
        "for change in (lambda: os.chmod('x', 0o4755), lambda: os.fchmod(os.open('x', os.O_RDONLY), 0o2755),\n"
        "               lambda: os.close(os.open('y', os.O_CREAT | os.O_WRONLY, 0o6755)),\n"
        "               lambda: os.mknod('z', 0o104755), lambda: os.chmod('x', 0o4755, dir_fd=os.open('.', os.O_RDONLY))):\n"
        "    try: change()\n    except OSError: pass\n"
        "libc.syscall(437, -100, b'v', (ctypes.c_uint64 * 3)(0o101, 0o6755, 0), 24); holds() and leak()",
        bare=True,
    ),
    Hostile(
        "System V shared memory of the host, by its number",
        "libc.shmat.restype = ctypes.c_void_p\nlibc.shmat(world['segment'], None, 0) != 2 ** 64 - 1 and leak()",
        bare=True,
    ),
    Hostile(
        "System V semaphores and queues",
        "for made, remove in ((libc.semget(0, 1, 0o600), lambda n: libc.semctl(n, 0, 0)), (libc.msgget(0, 0o600), lambda n: libc.msgctl(n, 0, None))):\n"
        "    if made >= 0: remove(made); leak(made)",
        bare=True,
    ),
    Hostile(
        "watching a folder of the host",
        "number = libc.inotify_init()\nlibc.inotify_add_watch(number, world['folder'].encode(), 0xFFF) >= 0 and leak()",
        bare=True,
    ),
    Hostile(
        "extended attributes of the user's files",
        "for change in (lambda: os.setxattr(world['mine'], 'user.x', b'x'), lambda: os.removexattr(world['mine'], 'user.mine')):\n"
        "    try: change(); leak()\n    except OSError: pass",
    ),
    Hostile(
        "mode, owner and times of the user's files",
        "os.chmod(world['mine'], 0o640); os.chown(world['mine'], os.getuid(), os.getgid()); os.utime(world['mine'], (1, 1)); leak()",
        lets_through=("landlock, user",),
        bare=True,
    ),
    Hostile(
        "whether a file of the host is there, and its size",
        "os.stat(world['mine']).st_size; leak()",
        lets_through=("landlock",),
        bare=True,
    ),
    Hostile(
        "1.5 GB in shared maps that it lets go of",
        "held = []\nfor _ in range(30):\n    m = mmap.mmap(-1, 50 * MB)\n"
        "    for n in range(50): m[n * MB:(n + 1) * MB] = b'x' * MB\n    m.madvise(mmap.MADV_DONTNEED); held.append(m)\nleak()",
    ),
    Hostile(
        "800 MB in page tables",
        "libc.mmap.restype = ctypes.c_void_p\n"
        "libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]\n"
        "at = libc.mmap(None, 400 << 30, 1, 0x4022, -1, 0)\nlibc.madvise(ctypes.c_void_p(at), ctypes.c_size_t(400 << 30), 15)\n"
        "for n in range(0, 400 << 30, 2 << 20): ctypes.c_byte.from_address(at + n).value\ntime.sleep(.3); leak()",
        within(20),
    ),
    Hostile(
        "CPU time of children that nobody waits for",
        "signal.signal(signal.SIGCHLD, signal.SIG_IGN)\nend = time.time() + 20\nwhile time.time() < end:\n    if os.fork() == 0:\n"
        "        while time.process_time() < .2: pass\n        os._exit(0)\n    try: os.waitpid(-1, 0)\n    except ChildProcessError: pass\nleak()",
        TREE_CPU,
    ),
    Hostile(
        "thousands of files, behind a zombie",
        "os.fork() == 0 and os._exit(0)\ntime.sleep(.1)\nfor n in range(1500): open(f'n{n}', 'w').close()\nleak(); end = time.time() + 1\n"
        "while time.time() < end: n += 1; open(f'n{n}', 'w').close()",
        within(15),
        outside="files",
        lets_through=("landlock",),
        bare=True,
    ),
]


def contained(hostile: Hostile, backend: str, user: str) -> bool:
    """Whether the table says that it is contained."""
    return not {backend, f"{backend}, {user}"} & set(hostile.lets_through)


def table() -> str:
    """Return the table of the documentation."""
    lines = ["| what it tries | " + " | ".join(f"{b}, {u}" for b, u in COLUMNS) + " |", "|---" * 5 + "|"]
    for each in HOSTILE:
        cells = ["contained" if contained(each, *column) else "**gets through**" for column in COLUMNS]
        lines.append(f"| {each.name} | {' | '.join(cells)} |")
    return "\n".join(lines)
