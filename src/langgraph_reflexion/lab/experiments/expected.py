"""The types of what readers take from a run folder, which somebody else may have written or edited.

Of each file one type says what must be there. What it does not name may be anything, and is kept. What it names has
the type that the code relies on afterwards, so that no reader fails later and elsewhere.
"""

from functools import cache
from typing import Annotated, Any, NotRequired

from pydantic import FailFast, Field, TypeAdapter, ValidationError
from typing_extensions import TypedDict  # pydantic makes schemas of these alone before Python 3.12

from langgraph_reflexion.errors import explain
from langgraph_reflexion.lab.declared import MOST_TRIALS

_Count = Annotated[int, Field(ge=0, lt=2**63)]
_Number = Annotated[float, Field(allow_inf_nan=False)]
_Name = Annotated[str, Field(min_length=1)]
_TrialNumber = Annotated[int, Field(ge=1, le=MOST_TRIALS)]

LONGEST_REASON = 300
"""Characters of an error message about a value."""


class _Action(TypedDict):
    text: str


class _Step(TypedDict):
    number: _Count
    thought: str
    action: _Action | None
    observation: str


class _Evaluation(TypedDict):
    score: _Number
    feedback: str
    unverified: NotRequired[bool]


class _Lesson(TypedDict):
    id: str


class _Usage(TypedDict):
    llm_calls: _Count
    cached_calls: _Count
    input_tokens: _Count
    output_tokens: _Count
    cost: _Number
    reused_input_tokens: NotRequired[_Count]
    reused_output_tokens: NotRequired[_Count]


class ReadTrial(_Usage):
    """A row of `trials.jsonl`. Fields as in `TrialRow`."""

    task_id: str
    trial: _TrialNumber
    success: bool | None
    gradable: NotRequired[bool]
    verdict: bool | None
    score: _Number | None
    unverified: NotRequired[bool]
    stop_reason: str
    actions: _Count
    # Imported logs have neither.
    usage: NotRequired[dict[str, _Usage]]
    measures: NotRequired[dict[str, _Number | bool]]
    reflection: str | None
    notes: Annotated[list[str], FailFast()]
    lessons: NotRequired[list[_Lesson]]
    fault: str
    seconds: _Number
    observation: NotRequired[str]
    steps: NotRequired[Annotated[list[_Step], FailFast()]]
    evaluation: NotRequired[_Evaluation | None]
    result: NotRequired[Any]
    prepared: NotRequired[dict[str, Any] | None]


class ReadKey(TypedDict):
    """What every row begins with."""

    task_id: str
    trial: _TrialNumber


class _Block(TypedDict, total=False):
    type: str
    text: str
    bytes: _Count
    sha256: str


class _ToolCall(TypedDict):
    name: str
    args: dict[str, Any]


class _Message(TypedDict):
    role: str
    content: str | list[str | _Block]
    tool_calls: NotRequired[list[_ToolCall]]


class _Call(TypedDict):
    kind: str
    call: str
    step: NotRequired[_Count]
    same: _Count
    same_characters: NotRequired[_Count]
    added: Annotated[list[_Message], FailFast()]
    tools: NotRequired[list[dict[str, Any]]]
    reply: _Message | None


class ReadCalls(ReadKey):
    """A row of `prompts.jsonl`. Fields as in `CallsRow`."""

    calls: Annotated[list[_Call], FailFast()]


class _Origin(TypedDict):
    source: str


class _Settings(TypedDict):
    """The settings that reports need. Resuming reads all of them (`RunSettings`)."""

    environment: str
    options: NotRequired[dict[str, Any]]
    split: str | None
    actor: NotRequired[str | None]
    strategy: _Name
    model: str
    reflection_model: str | None
    profile: str
    evaluator: str
    seed: int | None
    max_trials: _TrialNumber
    memory: NotRequired[str]
    memory_size: NotRequired[_Count | None]
    lessons: NotRequired[str | None]
    recall: NotRequired[bool]
    frozen: NotRequired[bool]
    imported: NotRequired[_Origin]


class ReadInfo(TypedDict):
    """The content of `run.json`."""

    settings: _Settings
    tasks: Annotated[list[str], FailFast()]
    run_id: NotRequired[str]
    goals: NotRequired[dict[str, str]]
    errors: NotRequired[dict[str, str]]
    code: NotRequired[dict[str, str]]
    changed_code: NotRequired[list[str]]
    stopped_after: NotRequired[_TrialNumber | None]
    seconds: NotRequired[_Number]
    created: NotRequired[str]
    versions: NotRequired[dict[str, str | None]]
    seen: NotRequired[list[str]]
    axes: NotRequired[dict[str, Any]]


def expect(kind: Any, found: Any) -> None:
    """Raise ValueError in one line, which names the field, if what was read is not of this type."""
    try:
        _adapter(kind).validate_python(found, strict=True)
    except ValidationError as error:
        words = " ".join(explain(error, place=_place).split())
        if len(words) > LONGEST_REASON:
            words = f"{words[:LONGEST_REASON]}…"
        raise ValueError(words) from error


def _place(path: list[str]) -> str:
    """Return a field's name. Behind a field of several types, pydantic's path goes on with the type that it tried."""
    *before, last = path or [""]
    if before and last.partition("[")[0] in ("bool", "float", "list", "str"):
        return ".".join(before)
    return ".".join(path)


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)
