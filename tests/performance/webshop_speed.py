"""How many pages and searches a second WebShop's engine gives, and how much memory it takes.

    python -m tests.performance.webshop_speed [--products 1000 100000 1000000] [--searches 200] [--json]

The products are generated, in a file of the official form, with words as frequent as in running text (Zipf's law).
The file is read as the official one is. Each number of products has two processes of its own: one reads the file and
builds the index, the other one searches and shows pages. What is done in a second is by the processor's time, so that
other work on the machine does not count. Memory is the most that a process held, parts of files that the system keeps
for it included. A million products take some ten minutes of an idle machine, and 6 GB of its disk.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from langgraph_reflexion.envs.webshop.goals import Goal
from langgraph_reflexion.envs.webshop.rendering import RENDERINGS
from langgraph_reflexion.envs.webshop.shop import LocalShop
from langgraph_reflexion.envs.webshop.state import State
from langgraph_reflexion.envs.webshop.store import Store
from tests.performance.corpus_speed import VOCABULARY, vocabulary

SIZES = (1_000, 100_000, 1_000_000)
PHASES = ("build", "serve")
_CODE = "0123456789ABCDEFGHJKLMNPQRSTUVWXYZ"


def products(number: int, seed: int = 0) -> Iterator[dict[str, Any]]:
    """Products as in `items_shuffle.json`, with about a hundred words that are indexed, and as many that are not."""
    random = Random(f"webshop speed {seed}")
    words = vocabulary(random)
    frequency = list(accumulate(1 / rank for rank in range(1, VOCABULARY + 1)))

    def told(least: int, most: int) -> str:
        return " ".join(random.choices(words, cum_weights=frequency, k=random.randint(least, most)))

    for place in range(number):
        options = {
            f"option {name}": [{"value": told(1, 2), "image": None} for _ in range(random.randint(2, 6))]
            for name in range(random.randint(0, 3))
        }
        yield {
            "asin": _code(place),
            "name": told(8, 16).title(),
            "category": "garden",
            "query": told(2, 3),
            "product_category": " \u203a ".join(("Garden", told(1, 1).title(), told(1, 2).title())),
            "full_description": told(20, 90).capitalize(),
            "small_description": [told(8, 20) for _ in range(5)],
            "pricing": f"${random.randint(100, 30_000) / 100}",
            "customization_options": options,
            "images": [f"https://images.example/{place}.jpg"],
        }


def write(file: Path, number: int) -> None:
    """Write the products into a file, as one list."""
    with file.open("w", encoding="utf-8") as out:
        for place, product in enumerate(products(number)):
            out.write(("," if place else "[") + "\n" + json.dumps(product))
        out.write("\n]")


def build(folder: Path, number: int, searches: int) -> dict[str, float]:
    """Read the file of products, and build what is searched."""
    begin, busy = time.perf_counter(), time.process_time()
    store = Store.cached(folder / "items_shuffle.json", None, folder / "cache")
    spent, busy = time.perf_counter() - begin, time.process_time() - busy
    assert len(store) == number
    store.close()
    kept = sum(file.stat().st_size for file in (folder / "cache").rglob("*") if file.is_file())
    return {
        "file, MB": (folder / "items_shuffle.json").stat().st_size / 1e6,
        "build, s": spent,
        "build, processor, s": busy,
        "build, memory, MB": _memory(),
        "on disk, MB": kept / 1e6,
    }


def serve(folder: Path, number: int, searches: int) -> dict[str, float]:
    """Search, and show pages."""
    begin = time.perf_counter()
    store = Store.cached(folder / "items_shuffle.json", None, folder / "cache")
    opened = time.perf_counter() - begin
    random = Random("searches")
    titles = [store.product(random.randrange(number)) for _ in range(searches)]
    queries = [" ".join(random.sample(product.title.split(), 4)) for product in titles]
    shop = LocalShop(store, Goal(titles[0].asin, "buy something", ("new",), (), 50.0))
    show = RENDERINGS["bracketed"].page
    places = [State("item", "q", 1, product.asin) for product in titles]
    described = [State("item_sub", "q", 1, product.asin, (), "Description") for product in titles]
    return {
        "open again, ms": opened * 1000,
        "searches a second": _rate(store.search, queries),
        "pages of results a second": _rate(lambda query: show(shop.page(State("results", query))), queries),
        "pages of products a second": _rate(lambda state: show(shop.page(state)), places),
        "descriptions a second": _rate(lambda state: show(shop.page(state)), described),
        "serve, memory, MB": _memory(),
    }


def measure(number: int, searches: int) -> dict[str, float]:
    """Everything for one number of products, by name."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        write(folder / "items_shuffle.json", number)
        result = {"products": float(number)}
        for phase in PHASES:
            arguments = ("--phase", phase, "--folder", name, "--products", str(number), "--searches", str(searches))
            done = subprocess.run([sys.executable, "-m", __spec__.name, *arguments], capture_output=True, text=True)
            if done.returncode:
                raise RuntimeError(f"{phase} failed: {done.stderr}")
            result |= json.loads(done.stdout)
        return result


def _rate(do: Callable[[Any], Any], each: Sequence[Any]) -> float:
    begin = time.process_time()
    for one in each:
        do(one)
    return len(each) / (time.process_time() - begin)


def _memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def _code(place: int) -> str:
    code = ""
    for _ in range(9):
        place, digit = divmod(place, len(_CODE))
        code = _CODE[digit] + code
    return f"W{code}"


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--products", type=int, nargs="+", default=SIZES)
    parser.add_argument("--searches", type=int, default=200)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--phase", choices=PHASES, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.phase:
        phase = {"build": build, "serve": serve}[options.phase]
        print(json.dumps(phase(options.folder, options.products[0], options.searches)))
        return
    results = [measure(number, options.searches) for number in options.products]
    if options.json:
        print(json.dumps(results))
        return
    for name in results[0]:
        values = (f"{result[name]:>14,.{0 if result[name] >= 100 else 1}f}" for result in results)
        print(f"{name:<28}{''.join(values)}")


if __name__ == "__main__":
    main()
