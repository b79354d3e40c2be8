"""The functions of the world `pytest-folder`, with their tests and a right version of each."""

from typing import NamedTuple


class Function(NamedTuple):
    """A function to write: how it is called, what it does in words, its tests, and its right text."""

    name: str
    signature: str
    words: str
    cases: tuple[str, ...]
    """A test for each: an expression that is true."""
    right: str

    @property
    def tests(self) -> str:
        """The test module."""
        called = self.signature.partition("(")[0]
        lines = [f"from {self.name} import {called}"]
        for number, case in enumerate(self.cases, 1):
            lines += ["", "", f"def test_{number}():", f"    assert {case}"]
        return "\n".join(lines) + "\n"


TRAIN = [
    Function(
        "initials",
        "initials(name)",
        "The first letters of the words of a name, in capitals, each with a full stop.",
        ('initials("ada king") == "A.K."', 'initials(" bo ") == "B."', 'initials("") == ""'),
        'def initials(name):\n    return "".join(f"{word[0].upper()}." for word in name.split())\n',
    ),
    Function(
        "clamp",
        "clamp(value, low, high)",
        "The value, but at least low and at most high; ValueError if low is above high.",
        (
            "clamp(5, 1, 3) == 3",
            "clamp(-5, 1, 3) == 1",
            "clamp(2, 1, 3) == 2",
            '__import__("pytest").raises(ValueError, clamp, 1, 3, 2)',
        ),
        "def clamp(value, low, high):\n    if low > high:\n        raise ValueError('low is above high')\n"
        "    return max(low, min(value, high))\n",
    ),
    Function(
        "evens",
        "evens(numbers)",
        "The even numbers of a list, without repetitions, the largest first.",
        ("evens([1, 2, 4, 2]) == [4, 2]", "evens([]) == []", "evens([-2, 0]) == [0, -2]"),
        "def evens(numbers):\n    return sorted({n for n in numbers if n % 2 == 0}, reverse=True)\n",
    ),
    Function(
        "snake",
        "snake(name)",
        "A name in CamelCase as snake_case.",
        ('snake("BigDog") == "big_dog"', 'snake("dog") == "dog"', 'snake("aB") == "a_b"'),
        'def snake(name):\n    out = ""\n    for c in name:\n        if c.isupper() and out:\n            out += "_"\n'
        "        out += c.lower()\n    return out\n",
    ),
    Function(
        "minutes",
        "minutes(text)",
        "The minutes of a duration such as 2h05m, 40m or 3h.",
        ('minutes("2h05m") == 125', 'minutes("40m") == 40', 'minutes("3h") == 180'),
        "import re\n\n\ndef minutes(text):\n    found = re.fullmatch(r'(?:(\\d+)h)?(?:(\\d+)m)?', text)\n"
        "    return 60 * int(found[1] or 0) + int(found[2] or 0)\n",
    ),
    Function(
        "pairs",
        "pairs(items)",
        "A list of the neighbours in a list, as tuples of two.",
        ("pairs([1, 2, 3]) == [(1, 2), (2, 3)]", "pairs([1]) == []", 'pairs("ab") == [("a", "b")]'),
        "def pairs(items):\n    return list(zip(items, items[1:]))\n",
    ),
    Function(
        "digits",
        "digits(number)",
        "The sum of the digits of a whole number, whatever its sign.",
        ("digits(123) == 6", "digits(-41) == 5", "digits(0) == 0"),
        "def digits(number):\n    return sum(int(d) for d in str(abs(number)))\n",
    ),
    Function(
        "median",
        "median(numbers)",
        "The middle number of a list, or the mean of the two in the middle; None for an empty list.",
        ("median([3, 1, 2]) == 2", "median([4, 1, 3, 2]) == 2.5", "median([]) is None"),
        "def median(numbers):\n    if not numbers:\n        return None\n    s = sorted(numbers)\n    h = len(s) // 2\n"
        "    if len(s) % 2:\n        return s[h]\n    return (s[h - 1] + s[h]) / 2\n",
    ),
]

TEST = [
    Function(
        "slug",
        "slug(title)",
        "The last part of a URL for a title: lower case, words of letters and digits joined by hyphens.",
        (
            'slug("Good Morning") == "good-morning"',
            'slug("  Two  spaces ") == "two-spaces"',
            'slug("Stop! Now?") == "stop-now"',
        ),
        'import re\n\n\ndef slug(title):\n    return "-".join(re.findall(r"[a-z0-9]+", title.lower()))\n',
    ),
    Function(
        "chunks",
        "chunks(items, size)",
        "A list of lists: the items of a list in groups of a size, of which the last may be shorter.",
        ("chunks([1, 2, 3], 2) == [[1, 2], [3]]", "chunks([], 2) == []", "chunks([1], 5) == [[1]]"),
        "def chunks(items, size):\n    return [items[i : i + size] for i in range(0, len(items), size)]\n",
    ),
    Function(
        "runs",
        "runs(text)",
        "Each run of the same letter in a text as the letter and its length.",
        ('runs("aab") == "a2b1"', 'runs("") == ""', 'runs("zzzz") == "z4"', 'runs("aba") == "a1b1a1"'),
        "from itertools import groupby\n\n\ndef runs(text):\n"
        '    return "".join(f"{c}{len(list(g))}" for c, g in groupby(text))\n',
    ),
    Function(
        "second",
        "second(numbers)",
        "The second largest of the different numbers in a list; None if there is none.",
        ("second([3, 1, 2]) == 2", "second([5, 5, 4]) == 4", "second([7, 7]) is None", "second([]) is None"),
        "def second(numbers):\n    found = sorted(set(numbers))\n    return found[-2] if len(found) > 1 else None\n",
    ),
    Function(
        "money",
        "money(cents)",
        "An amount of cents as euros, with commas between thousands and the sign in front.",
        (
            'money(123456) == "1,234.56"',
            'money(5) == "0.05"',
            'money(-250) == "-2.50"',
            'money(0) == "0.00"',
        ),
        'def money(cents):\n    sign = "-" if cents < 0 else ""\n    whole, rest = divmod(abs(cents), 100)\n'
        '    return f"{sign}{whole:,}.{rest:02}"\n',
    ),
    Function(
        "rotate",
        "rotate(items, by)",
        "A list with its items moved to the right by a number of places; what falls off comes in at the left. A "
        "negative number moves to the left.",
        (
            "rotate([1, 2, 3], 1) == [3, 1, 2]",
            "rotate([1, 2, 3], -1) == [2, 3, 1]",
            "rotate([1, 2, 3], 4) == [3, 1, 2]",
            "rotate([], 3) == []",
        ),
        "def rotate(items, by):\n    if not items:\n        return []\n    by %= len(items)\n"
        "    return items[len(items) - by :] + items[: len(items) - by]\n",
    ),
    Function(
        "anagrams",
        "anagrams(words)",
        "A list of the groups of words with the same letters, each sorted, and the groups in the order of their first "
        "words; a word alone is not a group.",
        (
            'anagrams(["tea", "dog", "ate"]) == [["ate", "tea"]]',
            'anagrams(["a", "b"]) == []',
            'anagrams(["on", "ab", "no", "ba"]) == [["ab", "ba"], ["no", "on"]]',
        ),
        "def anagrams(words):\n    groups = {}\n    for word in words:\n"
        '        groups.setdefault("".join(sorted(word)), []).append(word)\n'
        "    return sorted(sorted(g) for g in groups.values() if len(g) > 1)\n",
    ),
    Function(
        "roman",
        "roman(number)",
        "A number from 1 to 3999 in Roman numerals.",
        ('roman(4) == "IV"', 'roman(1994) == "MCMXCIV"', 'roman(40) == "XL"', 'roman(3) == "III"'),
        "def roman(number):\n    out = ''\n    for v, s in zip((1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1), "
        "'M CM D CD C XC L XL X IX V IV I'.split()):\n        out += s * (number // v)\n        number %= v\n"
        "    return out\n",
    ),
    Function(
        "flatten",
        "flatten(nested)",
        "A flat list of what is in lists within lists, however deep; a text is one item.",
        ('flatten([1, [2, [3]]]) == [1, 2, 3]', 'flatten(["ab", ["c"]]) == ["ab", "c"]', "flatten([[], []]) == []"),
        "def flatten(nested):\n    out = []\n    for each in nested:\n        if isinstance(each, list):\n"
        "            out += flatten(each)\n        else:\n            out.append(each)\n    return out\n",
    ),
    Function(
        "version",
        "newer(first, second)",
        "Whether the first of two versions such as 1.10.2 is newer than the second; missing parts count as 0.",
        ('newer("1.10", "1.9") is True', 'newer("1.0", "1") is False', 'newer("1.2", "1.2.1") is False'),
        "def newer(first, second):\n    a = [int(p) for p in first.split('.')]\n"
        "    b = [int(p) for p in second.split('.')]\n    size = max(len(a), len(b))\n"
        "    return a + [0] * (size - len(a)) > b + [0] * (size - len(b))\n",
    ),
    Function(
        "brackets",
        "balanced(text)",
        "Whether the brackets ( [ { in a text are closed in the right order; other characters do not matter.",
        ('balanced("a(b)[c]") is True', 'balanced("([)]") is False', 'balanced("(") is False', 'balanced("") is True'),
        "def balanced(text):\n    open_ = []\n    pairs = {')': '(', ']': '[', '}': '{'}\n    for c in text:\n"
        "        if c in '([{':\n            open_.append(c)\n        elif c in pairs:\n"
        "            if not open_ or open_.pop() != pairs[c]:\n                return False\n    return not open_\n",
    ),
    Function(
        "wrap",
        "wrap(text, width)",
        "A list of the lines of a text, filled with whole words up to a width; a longer word has a line of its own.",
        ('wrap("a bb ccc", 4) == ["a bb", "ccc"]', 'wrap("toolong a", 3) == ["toolong", "a"]', 'wrap("", 5) == []'),
        "def wrap(text, width):\n    lines = []\n    for word in text.split():\n"
        "        if lines and len(lines[-1]) + 1 + len(word) <= width:\n            lines[-1] += ' ' + word\n"
        "        else:\n            lines.append(word)\n    return lines\n",
    ),
    Function(
        "merge",
        "merge(spans)",
        "A sorted list of spans (start, end), in which those that overlap or touch are one.",
        (
            "merge([(1, 3), (2, 5)]) == [(1, 5)]",
            "merge([(6, 7), (1, 2), (2, 3)]) == [(1, 3), (6, 7)]",
            "merge([]) == []",
            "merge([(1, 9), (2, 3)]) == [(1, 9)]",
        ),
        "def merge(spans):\n    out = []\n    for start, end in sorted(spans):\n"
        "        if out and start <= out[-1][1]:\n            out[-1] = (out[-1][0], max(end, out[-1][1]))\n"
        "        else:\n            out.append((start, end))\n    return out\n",
    ),
    Function(
        "common",
        "common(words)",
        "The longest beginning that all words of a list share; an empty text if there is none, or no word.",
        ('common(["flow", "flower", "flat"]) == "fl"', 'common(["a", "b"]) == ""', 'common([]) == ""'),
        "import os\n\n\ndef common(words):\n    return os.path.commonprefix(words)\n",
    ),
    Function(
        "diagonal",
        "diagonals(square)",
        "The sums of both diagonals of a square of numbers, as a tuple: first the one from the top left.",
        ("diagonals([[1, 2], [3, 4]]) == (5, 5)", "diagonals([[7]]) == (7, 7)", "diagonals([]) == (0, 0)"),
        "def diagonals(square):\n    n = len(square)\n    return (sum(square[i][i] for i in range(n)), "
        "sum(square[i][n - 1 - i] for i in range(n)))\n",
    ),
    Function(
        "mask",
        "mask(card)",
        "A card number in which all digits but the last four are stars; other characters stay as they are.",
        (
            'mask("1234 5678") == "**** 5678"',
            'mask("12-345") == "*2-345"',
            'mask("123") == "123"',
        ),
        "def mask(card):\n    left = sum(c.isdigit() for c in card) - 4\n    out = ''\n    for c in card:\n"
        "        if c.isdigit() and left > 0:\n            c = '*'\n            left -= 1\n        elif c.isdigit():\n"
        "            left -= 1\n        out += c\n    return out\n",
    ),
]
