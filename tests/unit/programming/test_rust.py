import sys
from time import thread_time

import pytest

from langgraph_reflexion.envs.programming.rust_source import balanced, cases_in, literal, macros
from langgraph_reflexion.envs.programming.rust_values import NotValueError, close, read_value

SAME = [
    ("[1, 2]", "vec![1, 2]"),
    ("[0, 0, 0]", "vec![0; 3]"),
    ("[]", "Vec::<Vec<(isize, isize)>>::new()"),
    ('"a\\n\\"b\\" \\u{e9}"', 'String::from("a\\n\\"b\\" é")'),
    ('"a)"', 'r#"a)"#.to_string()'),
    ("'\\''", "'\\''"),
    ('{"b": [1], "a": []}', 'HashMap::from([(String::from("a"), vec![]), ("b".to_owned(), vec![1])])'),
    ("{2, 1}", "HashSet::from([1, 2])"),
    ("Some((1, -2))", "Some((1, -2))"),
    ('Err("no")', 'Err("no".to_string())'),
    ("1.0", "1.0_f64"),
    ("1e21", "1000000000000000000000.0"),
    ("-0.0", "0.0"),
    ("inf", "f64::INFINITY"),
    ("255", "0xff_u8"),
    ("(1,)", "(1,)"),
    ("1", "(1)"),
]
OTHER = [
    ("1", "1.0"),
    ("'a'", '"a"'),
    ("[1, 2]", "(1, 2)"),
    ("[1, 2]", "vec![2, 1]"),
    ("Some(1)", "1"),
    ("NaN", "f64::NAN"),
    ('{"a": 1}', 'HashMap::from([("a", 2)])'),
    ("All", "8"),
]


def test_equal():
    assert [pair for pair in SAME if read_value(pair[0]) != read_value(pair[1])] == []
    assert [written for _, written in SAME if not literal(written)] == []


def test_not_equal():
    assert [pair for pair in OTHER if read_value(pair[0]) == read_value(pair[1])] == []


def test_not_a_literal():
    texts = ["", "1 +", "[1", '"a', "f(1)", "x", "i64::MAX", "1 + 1", "vec![x]", "[" * 5000, "&v[..]", "{1: }", "1 2"]
    assert [text for text in texts if literal(text)] == []


def test_hostile_debug_output_is_refused():
    for text in ("[" * 5000, "Some(" * 5000, "vec![0; 999999999999]", "é(", '"' + "\\u{ffffffffff}" + '"'):
        try:
            read_value(text)
        except NotValueError:
            continue


def test_asserts():
    source = (
        '// assert_eq!(f(0), 0);\nassert_eq!(f("a, )", vec![(1, 2)]), 3, "why {}", x);\n'
        "/* assert!(f(1)); */ assert!(f('\\'') && !g());\nlet s = \"assert!(f(2))\"; assert_ne!(f(1)\n"
    )
    assert [(each.name, each.arguments) for each in macros(source)] == [
        ("assert_eq", ('f("a, )", vec![(1, 2)])', "3", '"why {}"', "x")),
        ("assert", ("f('\\'') && !g()",)),
    ]


def test_cases():
    def read(test):
        return [(case.call, case.comparison, case.expected) for case in cases_in(test, "f")]

    assert read("assert_eq!(f(1), 2);") == [("f(1)", "==", "2")]
    assert read("assert_eq!(2, f(1));") == [("f(1)", "==", "2")]
    assert read("assert!(f(1) != 2);") == [("f(1)", "!=", "2")]
    assert read("assert!(!f(1));") == [("f(1)", "==", "false")]
    assert read("assert!((f(1.0) - 2.0).abs() < 1e-9);") == [("(f(1.0) - 2.0).abs() < 1e-9", "==", "true")]
    assert read("assert!(f(1) == 2 && f(2) == 3);") == [("f(1) == 2 && f(2) == 3", "==", "true")]
    assert read("assert_eq!(f(1), f(2));") == [("(f(1)) == (f(2))", "==", "true")]
    assert read("assert_eq!(f(1), i64::MAX);") == [("(f(1)) == (i64::MAX)", "==", "true")]
    assert read("assert_eq!(g(1), 2);") == []


def test_braces():
    assert balanced('fn f() { [(1, "}")] /* } */ } // }\n')
    assert not balanced("fn f() { [(1)} ]")


SECONDS = 3.0
"""CPU seconds that a value of a megabyte may take; the ones below took minutes, hours or all memory."""
SHORT = [
    "{[[[0;400];400];400]}",
    "[[[0; 1000]; 1000]; 1000]",
    "Some([[0; 5000]; 5000])",
    "(([0; 90000],[0; 90000]),) ",
]
LONG = ["[0;100000],", "[(1,2);50000],"]


@pytest.mark.parametrize("text", [*SHORT[:3], *(f"[{each * 1300}]" for each in LONG)])
def test_a_short_text_for_a_huge_value_is_refused(text):
    began = thread_time()
    with pytest.raises(NotValueError):
        read_value(text)
    assert thread_time() - began < SECONDS


@pytest.mark.slow
def test_a_large_value_that_is_spelt_out_is_read():
    spelt = read_value(f"[{'7, ' * 100_000}]")
    assert spelt == read_value("vec![7; 100000]")
    assert len(read_value(SHORT[3])) == 2


@pytest.mark.slow
def test_a_set_of_numbers_with_one_hash_is_read_quickly():
    modulus = sys.hash_info.modulus
    numbers = [modulus * (n + 1) for n in range(40_000)]
    began = thread_time()
    forwards = read_value("{" + ", ".join(map(str, numbers)) + "}")
    backwards = read_value("{" + ", ".join(map(str, reversed(numbers))) + "}")
    assert forwards == backwards
    assert thread_time() - began < 2 * SECONDS


def test_nested_structs_are_read_quickly():
    began = thread_time()
    read_value("s {" * 90 + "[0; 90000], [0; 90000]" + "}" * 90)
    assert thread_time() - began < SECONDS
    assert read_value("S { b: 1, a: [2] }") == read_value("S { a: vec![2], b: 1 }")
    assert read_value("S { b: 1, a: 2 }") != read_value("S { a: 1, b: 2 }")


def test_integers_are_those_of_rust():
    assert read_value(str(2**128 - 1)) == read_value(hex(2**128 - 1))
    assert read_value(f"-{2**127}") == read_value(f"-({2**127})")
    with pytest.raises(NotValueError):
        read_value("1" * 400)


def test_no_number_stops_a_comparison_within_a_tolerance():
    one = read_value("1.5")
    assert not close(read_value("9" * 120), one, 1e-6)
    assert not close(read_value("inf"), read_value("9" * 120), 1e-6)
    assert close(read_value("1.5000001"), one, 1e-6)
    assert not close(read_value(str(2**127)), read_value(str(2**127 - 1)), 1e-6)
