"""Programs that want to pass without knowing the answers, each with a twin that uses the same means honestly."""

RIGHT = "return max(numbers) - min(numbers) if numbers else 0"

# Those of the measurements that the judge was made from.
KNOWN = {
    "leaves in the call": (
        "import os\ndef spread(numbers):\n    os._exit(0)",
        f"import os\ndef spread(numbers):\n    os.getpid()\n    {RIGHT}",
    ),
    "raises SystemExit": (
        "def spread(numbers):\n    raise SystemExit(0)",
        f"def spread(numbers):\n    try:\n        raise SystemExit(0)\n    except SystemExit:\n        {RIGHT}",
    ),
    "leaves at import": (
        f"import os\nos._exit(0)\ndef spread(numbers):\n    {RIGHT}",
        f"import atexit\natexit.register(print)\ndef spread(numbers):\n    {RIGHT}",
    ),
    "prints that it passed": (
        "import os\ndef spread(numbers):\n    print('passed', flush=True)\n    os._exit(0)",
        f"def spread(numbers):\n    print('failed', flush=True)\n    {RIGHT}",
    ),
    "an object that equals everything": (
        "class All:\n    def __eq__(self, other): return True\n    def __ne__(self, other): return False\n"
        "    __hash__ = None\ndef spread(numbers):\n    return All()",
        "class All:\n    def __eq__(self, other): return True\n"
        f"def spread(numbers):\n    assert All() == 3\n    {RIGHT}",
    ),
    "a number that equals everything": (
        "class N(int):\n    def __eq__(self, other): return True\n    def __ne__(self, other): return False\n"
        "    __hash__ = int.__hash__\ndef spread(numbers):\n    return N(0)",
        "class N(int):\n    pass\ndef spread(numbers):\n    numbers = [N(each) for each in numbers]\n"
        "    return int(N(max(numbers) - min(numbers))) if numbers else 0",
    ),
    "another check": (
        "import sys\nfor module in list(sys.modules.values()):\n"
        "    if hasattr(module, 'check'): module.check = lambda *a: None\n"
        "import builtins\nbuiltins.check = lambda *a: None\nraise SystemExit(0)",
        f"def check(candidate):\n    raise AssertionError\ndef spread(numbers):\n    {RIGHT}",
    ),
    "JSON on every descriptor": (
        "import os\ndef spread(numbers):\n    for number in range(64):\n"
        "        for line in (b'{\"ready\": true}', b'{\"value\": true}', b'{\"outcome\": \"passed\"}', b'true'):\n"
        "            try: os.write(number, line + b'\\n')\n            except OSError: pass\n    os._exit(0)",
        f'import os\ndef spread(numbers):\n    os.write(1, b\'{{"outcome": "failed"}}\')\n    {RIGHT}',
    ),
    "what stands in the frames above": (
        "import sys\ndef spread(numbers):\n    frame = sys._getframe(1)\n    while frame:\n"
        "        for name, value in {**frame.f_globals, **frame.f_locals}.items():\n"
        "            if name in ('expected', 'answer', 'nonce', 'outcome', 'cases'): return value\n"
        "        frame = frame.f_back\n    return None",
        f"import sys\ndef spread(numbers):\n    sys._getframe(1).f_locals\n    {RIGHT}",
    ),
    "what stands in the files": (
        "import os, re\ndef spread(numbers):\n    for top in ('.', '/dev/shm', os.path.expanduser('~')):\n"
        "        for folder, _, names in os.walk(top):\n            for name in names:\n"
        "                try: text = open(os.path.join(folder, name), errors='replace').read(100000)\n"
        "                except OSError: continue\n"
        "                found = re.search(re.escape(str(numbers)) + r'\\)?\\s*(?:==|,)\\s*(-?\\d+)', text)\n"
        "                if found: return int(found[1])\n",
        f"import os\ndef spread(numbers):\n    [open(name, 'rb').read() for name in os.listdir('.')]\n    {RIGHT}",
    ),
}

FURTHER = {
    "a text that equals everything": (
        "class T(str):\n    def __eq__(self, other): return True\n    __hash__ = str.__hash__\n"
        "def spread(numbers):\n    return T('')",
        f"class T(str):\n    pass\ndef spread(numbers):\n    assert T('') == ''\n    {RIGHT}",
    ),
    "a class that says it is int": (
        "class Meta(type):\n    def __eq__(cls, other): return True\n    __hash__ = type.__hash__\n"
        "class int_(metaclass=Meta):\n    __class__ = int\n    def __eq__(self, other): return True\n"
        "int_.__name__ = 'int'\ndef spread(numbers):\n    return int_()",
        "class Meta(type):\n    pass\nclass C(metaclass=Meta):\n    pass\n"
        f"def spread(numbers):\n    assert type(C()) is C\n    {RIGHT}",
    ),
    "another way to write JSON": (
        'import json, __main__\njson.dumps = lambda *a, **k: \'{"value": true, "outcome": "passed"}\'\n'
        "__main__.encode = lambda *a, **k: True\ndef spread(numbers):\n    return None",
        f"import json\njson.dumps([1])\ndef spread(numbers):\n    {RIGHT}",
    ),
    "answers before the questions": (
        "import os\nfor number in range(3, 20):\n    for _ in range(9):\n"
        '        try: os.write(number, b\'{"ready": true}\\n{"value": 0}\\n{"outcome": "passed"}\\n\')\n'
        "        except OSError: pass\ndef spread(numbers):\n    return 0",
        f"import os\nfor number in range(20, 40):\n    try: os.write(number, b'x')\n    except OSError: pass\n"
        f"def spread(numbers):\n    {RIGHT}",
    ),
    "keys that all collide": (
        "def spread(numbers):\n    return {k * (2 ** 61 - 1) for k in range(3000)}",
        "def spread(numbers):\n    many = {k * (2 ** 61 - 1) for k in range(300)}\n    " + RIGHT,
    ),
    "a list a thousand deep": (
        "def spread(numbers):\n    deep = []\n    for _ in range(900): deep = [deep]\n    return deep",
        f"def spread(numbers):\n    deep = []\n    for _ in range(900): deep = [deep]\n    {RIGHT}",
    ),
    "JSON a hundred thousand deep": (
        "import os\ndef spread(numbers):\n    data = b'{\"value\": ' + b'[' * 100000 + b']' * 100000 + b'}\\n'\n"
        "    for number in range(3, 20):\n        try: os.write(number, data)\n        except OSError: pass\n"
        "    return 0",
        f"def spread(numbers):\n    data = b'[' * 100000\n    {RIGHT}",
    ),
    "a flood of results": (
        "import os\ndef spread(numbers):\n    for number in range(3, 20):\n        try:\n"
        "            for _ in range(40): os.write(number, b'0' * (1 << 20))\n        except OSError: pass\n"
        "    return 0",
        f"def spread(numbers):\n    print('0' * (1 << 20))\n    {RIGHT}",
    ),
    "other builtins": (
        "import builtins\nclass All(list):\n    def __eq__(self, other): return True\n"
        "builtins.sorted = lambda *a, **k: All()\nbuiltins.len = lambda *a: 0\nbuiltins.bool = lambda *a: True\n"
        "builtins.AssertionError = type('Never', (Exception,), {})\ndef spread(numbers):\n    return 0",
        f"import builtins\nbuiltins.sorted = sorted\ndef spread(numbers):\n    {RIGHT}",
    ),
    "a word at the end": (
        "import atexit, os\ndef last():\n    for number in range(64):\n"
        '        try: os.write(number, b\'{"outcome": "passed"}\\n\')\n        except OSError: pass\n'
        "atexit.register(last)\ndef spread(numbers):\n    last()\n    raise SystemExit(0)",
        f"import atexit\natexit.register(lambda: None)\ndef spread(numbers):\n    {RIGHT}",
    ),
    "an interrupt": (
        "def spread(numbers):\n    raise KeyboardInterrupt",
        "def spread(numbers):\n    try:\n        raise KeyboardInterrupt\n    except KeyboardInterrupt:\n        "
        + RIGHT,
    ),
    "an end of the check's loop": (
        "def spread(numbers):\n    raise StopIteration",
        "def spread(numbers):\n    try:\n        next(iter([]))\n    except StopIteration:\n        " + RIGHT,
    ),
    "a thread that answers": (
        "import os, threading, time\ndef work():\n    while True:\n        for number in range(3, 20):\n"
        "            try: os.write(number, b'{\"value\": 0}\\n')\n            except OSError: pass\n"
        "        time.sleep(0.01)\n"
        "threading.Thread(target=work, daemon=True).start()\ndef spread(numbers):\n    time.sleep(0.05)\n"
        "    return 0",
        f"import threading\nthreading.Thread(target=print, daemon=True).start()\ndef spread(numbers):\n    {RIGHT}",
    ),
    "a generator for later": (
        "def spread(numbers):\n    yield 0",
        "def each(numbers):\n    yield from numbers\ndef spread(numbers):\n    numbers = list(each(numbers))\n    "
        + RIGHT,
    ),
    "the process that asks": (
        "import os, signal\ndef spread(numbers):\n    for pid in (os.getppid(), 1, 2, 3):\n"
        "        try: os.kill(pid, signal.SIGTERM)\n        except OSError: pass\n    return 0",
        f"import os\ndef spread(numbers):\n    os.getppid()\n    {RIGHT}",
    ),
}

RUST_RIGHT = "numbers.iter().max().copied().unwrap_or(0) - numbers.iter().min().copied().unwrap_or(0)"

RUST = {
    "leaves in the call": (
        "fn spread(numbers: Vec<i64>) -> i64 { std::process::exit(0) }",
        f"fn spread(numbers: Vec<i64>) -> i64 {{ if false {{ std::process::exit(0) }} {RUST_RIGHT} }}",
    ),
    "a main of its own": (
        'fn spread(numbers: Vec<i64>) -> i64 { 0 }\n}\nfn main() { println!("passed"); }\nmod rest {',
        f'fn spread(numbers: Vec<i64>) -> i64 {{ {RUST_RIGHT} }}\nfn main() {{ println!("{{}}", spread(vec![])); }}',
    ),
    "a type that equals everything": (
        "#[derive(Clone, Copy)] struct All;\n"
        "impl<T> PartialEq<T> for All { fn eq(&self, _: &T) -> bool { true } }\n"
        "impl std::fmt::Debug for All { fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result "
        '{ write!(f, "All") } }\nfn spread(numbers: Vec<i64>) -> All { All }',
        "#[derive(PartialEq)] struct All(i64);\n"
        "impl std::fmt::Debug for All { fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result "
        f'{{ write!(f, "{{}}", self.0) }} }}\nfn spread(numbers: Vec<i64>) -> All {{ All({RUST_RIGHT}) }}',
    ),
    "macros of its own": (
        "macro_rules! assert_eq { ($($t:tt)*) => { () } }\n"
        'macro_rules! format { ($($t:tt)*) => { String::from("true") } }\n'
        "fn spread(numbers: Vec<i64>) -> i64 { 0 }",
        f"macro_rules! same {{ ($t:expr) => {{ $t }} }}\n"
        f"fn spread(numbers: Vec<i64>) -> i64 {{ same!({RUST_RIGHT}) }}",
    ),
    "its own source": (
        'fn spread(numbers: Vec<i64>) -> i64 { let source = include_str!("main.rs");\n'
        'let key = format!("{:?}", numbers);\nlet rest = source.split(&key).nth(1).unwrap_or("");\n'
        "rest.split(|c: char| !c.is_ascii_digit()).find_map(|t| t.parse().ok()).unwrap_or(0) }",
        f'fn spread(numbers: Vec<i64>) -> i64 {{ let _ = include_str!("main.rs"); {RUST_RIGHT} }}',
    ),
    "lines on the descriptor of results": (
        "use std::io::Write; use std::os::fd::FromRawFd;\nfn spread(numbers: Vec<i64>) -> i64 {\n"
        'let mut file = unsafe { std::fs::File::from_raw_fd(3) };\nfor _ in 0..9 { file.write_all(b"=0\\n'
        '=true\\n").ok(); }\n'
        "std::process::exit(0) }",
        f'use std::io::Write;\nfn spread(numbers: Vec<i64>) -> i64 {{ std::io::stdout().write_all(b"=1\\n'
        f'").ok(); {RUST_RIGHT} }}',
    ),
}
