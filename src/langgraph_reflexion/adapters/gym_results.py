"""What worlds with `reset` and `step` return, and how it is shown."""

import json
import math
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from langgraph_reflexion.errors import ConfigurationError


class Seen(NamedTuple):
    """What `reset` or `step` returned."""

    observation: Any
    reward: float = 0.0
    terminated: bool = False
    truncated: bool = False
    info: Any = None


def after_reset(result: Any) -> Seen:
    """Return what `reset` returned: `(observation, info)`, an object with these as attributes, or an observation."""
    match result:
        case (observation, Mapping() as info):
            return Seen(observation, info=info)
    return Seen(getattr(result, "observation", result), info=getattr(result, "metadata", None))


def after_step(result: Any) -> Seen:
    """Return what `step` returned.

    Raises:
        ConfigurationError: it has no form that Gymnasium, an earlier version of it, or OpenEnv returns.
        ValueError: the reward is not a finite number.
    """
    match result:
        case (observation, reward, terminated, truncated, info):
            return Seen(observation, _finite(reward), bool(terminated), bool(truncated), info)
        case (observation, reward, done, info):
            return Seen(observation, _finite(reward), bool(done), info=info)
    if not hasattr(result, "done"):
        raise ConfigurationError(
            f"step() returned {result!r:.200}: it must return (observation, reward, terminated, truncated, info), "
            "(observation, reward, done, info), or an object with observation, reward and done"
        )
    metadata = getattr(result, "metadata", None)
    return Seen(getattr(result, "observation", result), _finite(result.reward), bool(result.done), info=metadata)


def _finite(reward: Any) -> float:
    """Return a reward as a number; none is 0."""
    if reward is None:
        return 0.0
    try:
        number = float(reward)
    except (TypeError, ValueError):
        number = math.nan
    if math.isfinite(number):
        return number
    said = f"step() returned the reward {reward!r:.100}, which is not a finite number"
    if getattr(reward, "shape", None):
        # An array of rewards, as Gymnasium's vector environments return.
        said += ": a trial needs a world of its own, not one of several"
    raise ValueError(said)


def rendered(observation: Any, env: Any) -> str:
    """Return an observation as text: as the world draws itself if it does so in characters, and else as JSON."""
    if getattr(env, "render_mode", None) == "ansi":
        return _without_colours(str(env.render())).strip("\n")
    if isinstance(observation, str):
        return observation
    return json.dumps(observation, ensure_ascii=False, default=_plain)


_COLOURS = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")


def _without_colours(text: str) -> str:
    """Return a terminal's text with its colours in words, such as `[S red]`."""
    in_words = re.sub(r"\x1b\[([\d;]+)m([^\x1b]+)\x1b\[0?m", _colour_in_words, text)
    return re.sub(r"\x1b\[[\d;]*m", "", in_words)


def _colour_in_words(match: re.Match[str]) -> str:
    """Return a coloured text with the name of its last colour; as it is if it has another format, such as bold."""
    colour = ""
    for code in match[1].split(";"):
        if not code:
            continue
        kind, number = divmod(int(code), 10)
        # Of the text and of its background, dark and bright.
        if kind in (3, 4, 9, 10) and number < len(_COLOURS):
            colour = _COLOURS[number]
    if not colour:
        return match[2]
    shown = match[2].strip() or "_"
    return f"[{shown} {colour}]"


def _plain(value: Any) -> Any:
    """Return what JSON does not know: numbers of numpy, to four digits, and Pydantic models."""
    if hasattr(value, "model_dump"):
        return value.model_dump()
    if getattr(getattr(value, "dtype", None), "kind", "") == "f":
        return value.astype(float).round(4).tolist()
    if hasattr(value, "tolist"):
        return value.tolist()
    return str(value)
