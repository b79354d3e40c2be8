"""Texts of models, pages and servers, made safe to print."""

import re

# Control characters except line feed and tab, marks of text direction, lone surrogates, and what XML forbids.
_UNPRINTABLE = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)


def printable(text: str) -> str:
    """Return a text with control characters made visible instead of effective."""
    return _UNPRINTABLE.sub(lambda found: _symbol(ord(found[0])), text)


def _symbol(code: int) -> str:
    if code < 0x20:
        return chr(0x2400 + code)
    if 0xD800 <= code <= 0xDFFF:
        return "\N{REPLACEMENT CHARACTER}"
    return "\N{SYMBOL FOR DELETE}" if code == 0x7F else f"\\u{code:04x}"
