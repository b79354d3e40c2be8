"""Reading a log, whatever it was saved as."""

import json
from pathlib import Path

from langgraph_reflexion.errors import ConfigurationError

MOST_BYTES = 64 << 20
"""No log is larger than this, decompressed."""


def read_bytes(path: Path) -> bytes:
    """Read a file whole.

    Raises:
        ConfigurationError: it cannot be read, or is too large.
    """
    try:
        if path.stat().st_size > MOST_BYTES:
            raise ConfigurationError(f"{path} is larger than {MOST_BYTES >> 20} MB, and not read")
        return path.read_bytes()
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}") from error


def read_text(path: Path) -> tuple[str, list[str]]:
    """Read a log.

    Args:
        path: The file.

    Returns:
        Its text, lines ending in a line feed; and what was odd about it, a line for each.

    Raises:
        ConfigurationError: it cannot be read, or is too large.
    """
    content = read_bytes(path)
    notes = []
    # Every log begins with a character of ASCII, as JSON does.
    encoding: str = json.detect_encoding(content)
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        if error.start >= len(content) - 3:
            # Cut off within a character.
            text = content.decode(encoding, "ignore")
        else:
            encoding, text = "windows-1252", content.decode("windows-1252", "replace")
    if encoding != "utf-8":
        notes.append(f"the file is no plain UTF-8: read as {encoding.upper()}")
    if zeros := text.count("\0"):
        # What is left where a disk was full, or a machine went down. The rest of the log may be whole.
        notes.append(f"zero bytes in it: {zeros}")
    return text.replace("\r\n", "\n").replace("\r", "\n"), notes
