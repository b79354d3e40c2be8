from langgraph_reflexion.envs.programming.rust_source import balanced, cases_in, literal, macros
from langgraph_reflexion.envs.programming.rust_values import NotValueError, read_value

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
