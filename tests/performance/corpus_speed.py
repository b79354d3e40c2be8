"""How long the offline corpus of HotPotQA takes to build, and to search.

    python -m tests.performance.corpus_speed [--pages 66000] [--searches 300] [--json]

The paragraphs are generated, as many and about as long as those of HotPotQA's development set, with words as
frequent as in running text (Zipf's law). Times are wall time; those of searches are medians and 95th percentiles.
"""

import argparse
import json
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from random import Random
from statistics import median, quantiles
from tempfile import TemporaryDirectory

from langgraph_reflexion.envs.hotpotqa.corpus import Corpus
from langgraph_reflexion.envs.hotpotqa.pages import Missing, Page

VOCABULARY = 60_000
"""How many words there are."""


def vocabulary(random: Random) -> list[str]:
    """Words of two to four syllables, the most frequent one first."""
    syllables = [a + b for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "u", "an", "er", "il")]
    words: dict[str, None] = {}
    while len(words) < VOCABULARY:
        words["".join(random.choices(syllables, k=random.randint(2, 4)))] = None
    return list(words)


def pages(number: int, seed: int = 0) -> Iterator[Page]:
    """Paragraphs of two to six sentences, under titles of one to four words."""
    random = Random(f"corpus speed {seed}")
    words = vocabulary(random)
    frequency = list(accumulate(1 / rank for rank in range(1, VOCABULARY + 1)))
    titles: set[str] = set()
    while len(titles) < number:
        title = " ".join(random.choices(words, cum_weights=frequency, k=random.randint(1, 4))).title()
        if random.random() < 0.1:
            title += f" ({random.choice(words)})"
        if title in titles:
            continue
        titles.add(title)
        sentences = []
        for _ in range(random.randint(2, 6)):
            told = random.choices(words, cum_weights=frequency, k=random.randint(8, 28))
            sentences.append(f" {' '.join(told).capitalize()}.")
        yield Page(title, (f"{title} is this.", *sentences))


def times(find: Callable[[str], Page | Missing], entities: Sequence[str]) -> tuple[float, float]:
    """The median and the 95th percentile of a search, in milliseconds."""
    spent = []
    for entity in entities:
        begin = time.perf_counter()
        find(entity)
        spent.append((time.perf_counter() - begin) * 1000)
    return median(spent), quantiles(spent, n=20)[-1]


def measure(number: int, searches: int) -> dict[str, float]:
    """Everything, by name."""
    random = Random("searches")
    made = list(pages(number))
    words = vocabulary(Random("corpus speed 0"))
    known = [random.choice(made).title for _ in range(searches)]
    entities = {
        "exact title": known,
        "title but for case": [title.swapcase() for title in known],
        # A model misremembers: a word of the title is another one.
        "similar titles": [" ".join([*title.split()[:-1], random.choice(words)]) for title in known],
        # The worst case: words that most pages have.
        "similar titles, frequent words": [" ".join(random.sample(words[:40], 4)) for _ in range(searches)],
    }
    with TemporaryDirectory() as folder:
        source, cache = Path(folder, "pages"), Path(folder, "cache")
        source.write_text(f"{number} generated pages")
        begin = time.perf_counter()
        corpus = Corpus.cached(source, lambda: made, cache)
        result = {"pages": float(number), "build, s": time.perf_counter() - begin}
        corpus.close()
        begin = time.perf_counter()
        corpus = Corpus.cached(source, lambda: made, cache)
        result["open again, ms"] = (time.perf_counter() - begin) * 1000
        result["on disk, MB"] = sum(file.stat().st_size for file in cache.iterdir()) / 1e6
        for name, asked in entities.items():
            typical, slow = times(corpus.find, asked)
            result |= {f"{name}, ms": typical, f"{name}, ms (95 %)": slow}
        corpus.close()
    return result


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=66_000)
    parser.add_argument("--searches", type=int, default=300)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    result = measure(options.pages, options.searches)
    if options.json:
        print(json.dumps(result))
        return
    for name, value in result.items():
        print(f"{name:<42}{value:>14,.{0 if value >= 1000 else 2}f}")


if __name__ == "__main__":
    main()
