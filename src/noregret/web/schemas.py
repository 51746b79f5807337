"""The API's requests and responses, as FastAPI validates and documents them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal
from urllib.parse import quote, unquote_to_bytes

from pydantic import AfterValidator, BaseModel, Field, StrictBool, StrictFloat, StrictInt, StrictStr

from noregret.errors import NoRegretError
from noregret.space import (
    ONLY_FOR,
    Candidates,
    Choice,
    Float,
    Int,
    Parameter,
    Space,
    read_constraint,
    read_only,
)
from noregret.storage import StudySummary
from noregret.strategies import named
from noregret.study import Study, read_limits, read_measured, read_number

LARGEST_INT = 2**53 - 1  # the largest integer that every JSON reader takes without rounding
KEY = r"^(?:[A-Za-z0-9._-]|~[0-9A-F]{2})+$|^~$"


def encode_name(name: str) -> str:
    """A study's name as one segment of a path.

    Proxies and routers rewrite ``%2F`` and ``..``: every byte besides letters, digits, ``-``,
    ``_`` and inner dots is written ``~XX`` in hexadecimal.
    """
    encoded = quote(name.encode("utf-8", "surrogatepass"), safe="")
    key = encoded.replace("~", "%7E").replace("%", "~")
    if not key.strip("."):  # "", "." and ".." mean something else in a path
        return key.replace(".", "~2E") or "~"
    return key


def decode_key(key: str) -> str | None:
    """The study's name of a key; None if ``encode_name`` makes no such key."""
    try:
        encoded = b"" if key == "~" else unquote_to_bytes(key.replace("~", "%"))
        name = encoded.decode("utf-8", "surrogatepass")
    except UnicodeError:
        return None
    return name if encode_name(name) == key else None


def _clean(text: str) -> str:
    if any(ord(c) < 32 or ord(c) == 127 or 0xD800 <= ord(c) <= 0xDFFF for c in text):
        raise ValueError("a name has no control characters and no lone surrogates")
    return text


def _readable(text: str) -> str:
    """Text of several lines."""
    _clean(text.replace("\n", " ").replace("\r", " ").replace("\t", " "))
    return text


class Body(BaseModel, extra="forbid", allow_inf_nan=False):
    """A request."""


Key = Annotated[str, Field(max_length=1000, pattern=KEY)]
Name = Annotated[StrictStr, Field(min_length=1, max_length=200), AfterValidator(_clean)]
Text = Annotated[StrictStr, Field(max_length=1000), AfterValidator(_clean)]
Remark = Annotated[StrictStr, Field(max_length=4000), AfterValidator(_readable)]
Whole = Annotated[StrictInt, Field(ge=-LARGEST_INT, le=LARGEST_INT)]
Real = Annotated[StrictFloat | Whole, AfterValidator(float)]
NotNegative = Annotated[StrictFloat | Whole, Field(ge=0), AfterValidator(float)]
Positive = Annotated[StrictFloat | Whole, Field(gt=0), AfterValidator(float)]
Scalar = Text | StrictBool | Whole | StrictFloat | None
Params = Annotated[dict[Name, Scalar], Field(max_length=1000)]
Pair = Annotated[list[Real], Field(min_length=2, max_length=2)]
Column = Annotated[list[Text], Field(max_length=10_000)]
Outcomes = Annotated[
    dict[Name, Real | Pair],
    Field(max_length=100),
    AfterValidator(lambda outcomes: outcomes or None),
]


class Input(Body):
    """An input with a range. unit: how its values are shown, such as °C."""

    unit: Annotated[StrictStr, Field(max_length=40), AfterValidator(_clean)] | None = None


class FloatIn(Input):
    kind: Literal["float"]
    name: Name
    low: Real
    high: Real
    log: StrictBool = False
    step: Positive | None = None
    digits: Annotated[StrictInt, Field(ge=0, le=20)] | None = None


class IntIn(Input):
    kind: Literal["int"]
    name: Name
    low: Whole
    high: Whole
    log: StrictBool = False
    step: Annotated[StrictInt, Field(ge=1, le=LARGEST_INT)] = 1


class ChoiceIn(Body):
    kind: Literal["choice"]
    name: Name
    options: Annotated[list[Scalar], Field(min_length=1, max_length=1000)]
    ordered: StrictBool = False


class BoxIn(Body):
    kind: Literal["box"]
    parameters: Annotated[
        list[Annotated[FloatIn | IntIn | ChoiceIn, Field(discriminator="kind")]],
        Field(min_length=1, max_length=200),
    ]
    constraints: Annotated[list[Text], Field(max_length=200)] = []


class CandidatesIn(Body):
    kind: Literal["candidates"]
    rows: Annotated[list[Params], Field(min_length=1, max_length=10_000)]


class ModelIn(Body):
    kind: Literal["insured", "log_ei"] = "insured"
    noise_std: NotNegative | None = None


class RigorousIn(Body):
    kind: Literal["rigorous"]
    noise_bound: Positive
    norm_bound: Positive = 1.0
    delta: Annotated[float, Field(gt=0, lt=1)] = 0.1
    offset: Real = 0.0


class RandomIn(Body):
    kind: Literal["random"]


PARAMETERS: dict[str, Callable[..., Parameter]] = {"float": Float, "int": Int, "choice": Choice}


class StudyIn(Body):
    """A new study. Its space is a box of parameters or a list of designs."""

    name: Name
    goal: Literal["maximize", "minimize"]
    space: Annotated[BoxIn | CandidatesIn, Field(discriminator="kind")]
    strategy: Annotated[ModelIn | RigorousIn | RandomIn, Field(discriminator="kind")] = ModelIn()
    seed: Annotated[StrictInt, Field(ge=0, le=LARGEST_INT)] = 0
    value_name: Name | None = None
    unit: Text | None = None
    outcomes: Annotated[list[Text], Field(max_length=20)] = []
    context: Annotated[list[Name], Field(max_length=20)] = []

    def attributes(self) -> dict[str, Any]:
        """The name of the measured value and the units, where they are set."""
        inputs = self.space.parameters if isinstance(self.space, BoxIn) else []
        units = {each.name: each.unit for each in inputs if isinstance(each, Input) and each.unit}
        named = self.model_dump(include={"value_name", "unit"}, exclude_none=True)
        return {**named, "units": units} if units else named

    def to_space(self) -> Space | Candidates:
        """The search space, with its constraints and branches."""
        if isinstance(self.space, CandidatesIn):
            return Candidates([dict(row) for row in self.space.rows])
        inputs = [
            (item.name, PARAMETERS[item.kind](**item.model_dump(exclude={"kind", "name", "unit"})))
            for item in self.space.parameters
        ]
        box = Space(inputs)
        branches = [text for text in self.space.constraints if f" {ONLY_FOR} " in text]
        constraints = [text for text in self.space.constraints if text not in branches]
        return Space(
            box.parameters,
            constraints=[
                read_constraint(text, box.parameters, functions=False) for text in constraints
            ],
            branches=[read_only(text, box.parameters) for text in branches],
        )

    def settings(self) -> dict[str, Any]:
        """The other arguments of ``Study.create``, which ``Study.derived`` takes too."""
        options = self.strategy.model_dump(exclude={"kind"})
        return {
            "goal": self.goal,
            "strategy": named(self.strategy.kind.replace("_", "-"), options),
            "seed": self.seed,
            "outcomes": read_limits(self.outcomes),
            "context": self.context,
        }


class DerivedIn(StudyIn):
    """A new study with the trials of another. past: values of added parameters in them."""

    past: Params = {}

    def changes(self, old: Study) -> dict[str, Any]:
        """The arguments of ``Study.derived``: parameters by name if none is removed, so that the
        rest of the space stays.
        """
        space, changes = self.to_space(), {"past": self.past, **self.settings()}
        if (
            isinstance(old.space, Space)
            and isinstance(space, Space)
            and space.branches == old.space.branches
            and set(old.space.parameters) <= set(space.parameters)
        ):
            inputs = dict(space.parameters)
            return {**changes, "parameters": inputs, "constraints": space.constraints}
        return {**changes, "space": space}


class AskIn(Body):
    """The number of experiments. fixed: values some parameters must have; context: current values
    of the context parameters.
    """

    count: Annotated[StrictInt, Field(ge=1, le=20)] = 1
    fixed: Params | None = None
    context: Params | None = None


class ResultIn(Body):
    """A value with its noise's standard deviation if known, and the outcomes that have limits."""

    value: Real | None = None
    noise_std: Positive | None = None
    note: Remark | None = None
    outcomes: Outcomes | None = None


class TellIn(ResultIn):
    """A value, or ``"state": "failed"`` without a value. transient: the failure is unrelated to the
    point; params: the point that was really run.
    """

    state: Literal["complete", "failed"] = "complete"
    params: Params | None = None
    reason: Remark | None = None
    transient: bool = False


class CorrectIn(TellIn):
    """Another result, or ``"state": "withdrawn"``: the result is struck out."""

    state: Literal["complete", "failed", "withdrawn"] = "complete"  # type: ignore[assignment]


class PointIn(ResultIn):
    """A point measured elsewhere; without a value, a point to try next."""

    params: Params


class TextIn(Body):
    """A number as it was typed. unit: the only unit it may carry; noise: whether ± may follow."""

    text: Text
    unit: Text = ""
    noise: StrictBool = False


class NumbersIn(Body):
    """Texts that must be numbers, and columns of texts that are numbers if every cell is one."""

    texts: Annotated[list[TextIn], Field(max_length=1000)] = []
    columns: Annotated[list[Column], Field(max_length=1000)] = []


class NumberOut(BaseModel):
    """The number that was read, or why the text is not a number."""

    value: float | None = None
    noise_std: float | None = None
    error: str | None = None

    @staticmethod
    def of(typed: TextIn) -> NumberOut:
        try:
            if not typed.noise:
                return NumberOut(value=read_number(typed.text, "This", typed.unit))
            value, noise_std, _ = read_measured(typed.text, "This", typed.unit)
        except NoRegretError as error:
            return NumberOut(error=str(error))
        return NumberOut(value=value, noise_std=noise_std)


class NumbersOut(BaseModel):
    numbers: list[NumberOut]
    columns: list[list[Any]]


class NoteIn(Body):
    """The new note; an empty one removes the old."""

    note: Remark = ""


class WithdrawIn(Body):
    """later: the trial waits for the next ask; never: it is withdrawn for good."""

    then: Literal["later", "never"]


class ErrorOut(BaseModel):
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyOut(StudySummary):
    key: str

    @staticmethod
    def of(summary: StudySummary) -> StudyOut:
        return StudyOut(key=encode_name(summary.name), **asdict(summary))


class DescriptionOut(BaseModel):
    key: str
    name: str
    attributes: dict[str, Any]
    goal: str
    seed: int
    version: str
    space: dict[str, Any]
    constraints: list[str]
    outcomes: list[str]
    context: list[str]
    strategy: dict[str, Any]
    theorem: str
    counts: dict[str, int]


class TrialOut(BaseModel):
    number: int
    params: dict[str, Any] | list[float]
    state: str
    value: float | None
    noise_std: float | None
    decision: dict[str, Any]
    corrects: int | None
    created: str | None = None
    finished: str | None = None
    transient: bool = False
    outcomes: dict[str, float] = {}
    outcome_noise: dict[str, float] = {}
    feasible: bool | None = None


class VersionOut(BaseModel):
    version: str
    model: str | None = None
    fitting: bool = False


class ChartOut(BaseModel):
    text: str
    rows: int
    columns: dict[str, list[Any]]


class SlicesOut(BaseModel):
    version: str
    error: str | None
    slices: list[dict[str, Any]]


class SliceOut(BaseModel, extra="allow"):
    version: str
    error: str | None


class TakeBackIn(Body):
    """The label of an import."""

    label: Text


class ImportOut(BaseModel):
    """attributes: the columns that are kept as attributes; label: to take the import back."""

    imported: int
    attributes: list[str] = []
    label: str
