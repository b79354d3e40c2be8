"""A small problem for each language."""

from langgraph_reflexion.envs.programming.problems import Case, Problem


def sample(language: str, prompt: str, entry_point: str, canonical: str, *cases: Case) -> Problem:
    return Problem(
        id=f"sample/{language}",
        source="own",
        language=language,
        prompt=prompt,
        entry_point=entry_point,
        canonical=canonical,
        cases=cases,
    )


SAMPLES = {
    "python": sample(
        "python",
        "def runs(text: str) -> list:\n    # Each letter with how often it stands in a row.\n",
        "runs",
        "from itertools import groupby\n\ndef runs(text):\n"
        "    return [(k, len(list(g))) for k, g in groupby(text)]\n",
        Case("runs('aab')", "[('a', 2), ('b', 1)]"),
        Case("runs('')", "[]"),
    ),
    "rust": sample(
        "rust",
        "/// Each letter with how often it stands in a row.\nfn runs(text: &str) -> Vec<(char, usize)> {\n",
        "runs",
        "fn runs(text: &str) -> Vec<(char, usize)> {\n    let mut found: Vec<(char, usize)> = Vec::new();\n"
        "    for each in text.chars() {\n        match found.last_mut() {\n"
        "            Some((letter, count)) if *letter == each => *count += 1,\n"
        "            _ => found.push((each, 1)),\n"
        "        }\n    }\n    found\n}\n",
        Case('runs("aab")', "vec![('a', 2), ('b', 1)]"),
        Case('runs("")', "Vec::<(char, usize)>::new()"),
    ),
    "javascript": sample(
        "javascript",
        "// How often each word occurs.\nfunction counts(words) {\n",
        "counts",
        "function counts(words) {\n  const found = {};\n"
        "  for (const each of words) found[each] = (found[each] || 0) + 1;\n  return found;\n}\n",
        Case("counts(['a', 'b', 'a'])", '{"b": 1, "a": 2}'),
        Case("counts([])", "{}"),
    ),
    "typescript": sample(
        "typescript",
        "// The mean of some numbers, or null where there are none.\n"
        "function mean(numbers: number[]): number | null {\n",
        "mean",
        "function mean(numbers: number[]): number | null {\n  if (!numbers.length) return null;\n"
        "  return numbers.reduce((a, b) => a + b, 0) / numbers.length;\n}\n",
        Case("mean([1, 2, 4])", "2.3333", "close", 0.001),
        Case("mean([])", "null"),
    ),
    "go": sample(
        "go",
        "package main\n\n// Evens returns the even ones of some numbers.\nfunc Evens(numbers []int) []int {\n",
        "Evens",
        "package main\n\nfunc Evens(numbers []int) []int {\n\tfound := []int{}\n\tfor _, each := range numbers {\n"
        "\t\tif each%2 == 0 {\n\t\t\tfound = append(found, each)\n\t\t}\n\t}\n\treturn found\n}\n",
        Case("Evens([]int{1, 2, 3, -4})", "[2, -4]"),
        Case("Evens(nil)", "[]"),
    ),
    "java": sample(
        "java",
        "import java.util.*;\n\nclass Solution {\n    // The letters of a text, each once, in order.\n"
        "    List<String> letters(String text) {\n",
        "letters",
        "import java.util.*;\n\nclass Solution {\n    List<String> letters(String text) {\n"
        '        return new ArrayList<>(new TreeSet<>(Arrays.asList(text.split(""))));\n    }\n}\n',
        Case('solution.letters("banana")', '["a", "b", "n"]'),
        Case('solution.letters("\\"")', '["\\""]'),
    ),
    "c++": sample(
        "c++",
        "#include <vector>\n// The sums of the first numbers, up to each of them.\n"
        "std::vector<int> sums(std::vector<int> numbers) {\n",
        "sums",
        "#include <vector>\nstd::vector<int> sums(std::vector<int> numbers) {\n"
        "  for (std::size_t i = 1; i < numbers.size(); i++) numbers[i] += numbers[i - 1];\n  return numbers;\n}\n",
        Case("sums({1, 2, 3})", "[1, 3, 6]"),
        Case("sums({})", "[]"),
    ),
}

BROKEN = {
    "python": "def runs(text) return 1",
    "rust": "fn runs(text: &str) -> Vec<(char, usize)> { 3 }",
    "javascript": "function counts(words) { return }}",
    "typescript": "function mean(numbers: number[]): number | null { return 'x'; }",
    "go": "package main\n\nfunc Evens(numbers []int) []int { return 3 }",
    "java": "class Solution { List<String> letters(String text) { return 3; } }",
    "c++": "std::vector<int> sums(std::vector<int> numbers) { return 3 }",
}
