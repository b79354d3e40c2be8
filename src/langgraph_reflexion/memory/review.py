"""Signs by which a person who reviews lessons notices one that speaks to the model instead of telling of a task."""

import re

SIGNS: dict[str, str] = {
    "an address": r"\b(?:https?|ftp)://|\bwww\.|\b[\w.+-]+@[\w-]+\.\w{2,}\b",
    "an instruction to the model": (
        r"\b(?:ignore|disregard|forget|override)\b[^.\n]{0,40}\b(?:instructions?|rules?|above|previous|earlier|prompts?)\b"
        r"|\bsystem prompt\b|\byou are (?:now )?(?:an?|the) (?:assistant|ai|model|agent)\b|\bas an ai\b"
    ),
    "a command": r"```|\b(?:sudo|curl|wget|chmod|powershell|eval|exec)\b|\brm\s+-|\bos\.system\b",
    "a secret": r"\b(?:passwords?|passphrases?|api[ _-]?keys?|access tokens?|private keys?|credentials?)\b",
    "a mark of a chat format": r"<\|?/?(?:system|assistant|user|im_start|im_end|s)\b|\[/?INST\]",
}
"""What is looked for, by the name under which it is reported. None of it has to be bad: a person decides."""


def signs_in(text: str) -> list[str]:
    """Return the names of the signs in a lesson."""
    return [name for name, pattern in SIGNS.items() if re.search(pattern, text, re.IGNORECASE)]
