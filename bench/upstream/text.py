"""Reading a log as text, whatever it was saved as."""

import codecs
from pathlib import Path

from langgraph_reflexion.errors import ConfigurationError

_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


def read_text(path: Path) -> tuple[str, list[str]]:
    """Read a log.

    Args:
        path: The file.

    Returns:
        Its text, lines ending in a line feed; and what was odd about it, a line for each.

    Raises:
        ConfigurationError: it cannot be read, or is no text.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}") from error
    notes = []
    encoding = next((name for mark, name in _MARKS.items() if content.startswith(mark)), "utf-8")
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        if error.start >= len(content) - 3:
            # Cut off within a character.
            text = content.decode(encoding, "ignore")
        else:
            encoding, text = "windows-1252", content.decode("windows-1252", "replace")
    if "\0" in text:
        raise ConfigurationError(f"{path} is no text")
    if encoding != "utf-8":
        notes.append(f"the file is no plain UTF-8: read as {encoding.upper()}")
    return text.replace("\r\n", "\n").replace("\r", "\n"), notes
