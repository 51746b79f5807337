"""What the API takes and gives, as FastAPI checks and describes it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
)

from noregret.errors import NoRegretError
from noregret.space import (
    ONLY_FOR,
    Candidates,
    Choice,
    Float,
    Int,
    Space,
    read_constraint,
    read_only,
)
from noregret.strategies import AdaptiveGPUCB, InsuredGPUCB, LogEI, RandomSearch, Strategy
from noregret.study import Study, read_limits, read_number, read_value
from noregret.trials import Limit, Trial
from noregret.web.keys import KEY, key_of

LARGEST_INT = 2**53 - 1  # what every JSON reader takes without rounding


def _clean(text: str) -> str:
    if any(ord(c) < 32 or ord(c) == 127 or 0xD800 <= ord(c) <= 0xDFFF for c in text):
        raise ValueError("a name has no control characters and no lone surrogates")
    return text


def _readable(text: str) -> str:
    """Text of several lines."""
    _clean(text.replace("\n", " ").replace("\r", " ").replace("\t", " "))
    return text


class Body(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


Key = Annotated[str, Field(max_length=1000, pattern=KEY)]
Name = Annotated[StrictStr, Field(min_length=1, max_length=200), AfterValidator(_clean)]
Text = Annotated[StrictStr, Field(max_length=1000), AfterValidator(_clean)]
Remark = Annotated[StrictStr, Field(max_length=4000), AfterValidator(_readable)]
Whole = Annotated[StrictInt, Field(ge=-LARGEST_INT, le=LARGEST_INT)]
Real = Annotated[StrictFloat | Whole, Field()]
Positive = Annotated[StrictFloat | Whole, Field(gt=0)]
Scalar = Text | StrictBool | Whole | StrictFloat | None
Params = Annotated[dict[Name, Scalar], Field(max_length=1000)]
Pair = Annotated[list[Real], Field(min_length=2, max_length=2)]
Outcomes = Annotated[dict[Name, Real | Pair], Field(max_length=100)]


class FloatIn(Body):
    kind: Literal["float"]
    name: Name
    low: Real
    high: Real
    log: StrictBool = False
    step: Positive | None = None
    digits: Annotated[StrictInt, Field(ge=0, le=20)] | None = None


class IntIn(Body):
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


class InsuredIn(Body):
    kind: Literal["insured"] = "insured"
    noise_std: Positive | None = None


class RigorousIn(Body):
    kind: Literal["rigorous"]
    noise_bound: Positive
    norm_bound: Positive = 1.0
    delta: Annotated[float, Field(gt=0, lt=1)] = 0.1
    offset: Real = 0.0


class LogEIIn(Body):
    kind: Literal["log_ei"]
    noise_std: Positive | None = None


class RandomIn(Body):
    kind: Literal["random"]


class StudyIn(Body):
    """A new study: its space is a box of inputs, or a list of designs."""

    name: Name
    goal: Literal["maximize", "minimize"]
    space: Annotated[BoxIn | CandidatesIn, Field(discriminator="kind")]
    strategy: Annotated[
        InsuredIn | RigorousIn | LogEIIn | RandomIn, Field(discriminator="kind")
    ] = InsuredIn()
    seed: Annotated[StrictInt, Field(ge=0, le=LARGEST_INT)] = 0
    value_name: Name | None = None
    unit: Text | None = None
    outcomes: Annotated[list[Text], Field(max_length=20)] = Field(default_factory=list)
    context: Annotated[list[Name], Field(max_length=20)] = Field(default_factory=list)

    def attributes(self) -> dict[str, str]:
        """What the values are called, and their unit."""
        given = {"value_name": self.value_name, "unit": self.unit}
        return {name: each for name, each in given.items() if each is not None}

    def made_space(self) -> Space | Candidates:
        if isinstance(self.space, CandidatesIn):
            return Candidates([dict(row) for row in self.space.rows])
        box = Space(
            [(parameter.name, _parameter(parameter)) for parameter in self.space.parameters]
        )
        lines = self.space.constraints
        return Space(
            box.parameters,
            constraints=[
                read_constraint(text, box.parameters, functions=False)
                for text in lines
                if f" {ONLY_FOR} " not in text
            ],
            branches=[read_only(text, box.parameters) for text in lines if f" {ONLY_FOR} " in text],
        )

    def made_limits(self) -> dict[str, Limit]:
        """Typed as toxicity<=0.3."""
        return read_limits(self.outcomes)

    def made_strategy(self) -> Strategy:
        match self.strategy:
            case InsuredIn(noise_std=noise_std):
                return InsuredGPUCB(noise_std=_float(noise_std))
            case RigorousIn() as chosen:
                return AdaptiveGPUCB.rigorous(
                    float(chosen.noise_bound),
                    chosen.delta,
                    norm_bound=float(chosen.norm_bound),
                    offset=float(chosen.offset),
                )
            case LogEIIn(noise_std=noise_std):
                return LogEI(noise_std=_float(noise_std))
            case RandomIn():
                return RandomSearch()


class DerivedIn(StudyIn):
    """A new study with the trials of another. past: what an added input was in them."""

    past: Params = {}

    def changes(self, old: Study) -> dict[str, Any]:
        """As ``Study.derived`` takes them: inputs by name where none goes, so that what else the
        space has stays.
        """
        space = self.made_space()
        kept = (
            isinstance(old.space, Space)
            and isinstance(space, Space)
            and space.branches == old.space.branches
            and set(old.space.parameters) <= set(space.parameters)
        )
        return {
            "past": self.past,
            "goal": self.goal,
            "strategy": self.made_strategy(),
            "seed": self.seed,
            "outcomes": self.made_limits(),
            "context": self.context,
            **(
                {"parameters": dict(space.parameters), "constraints": space.constraints}
                if kept and isinstance(space, Space)
                else {"space": space}
            ),
        }


def _float(value: float | None) -> float | None:
    return None if value is None else float(value)


def _parameter(given: FloatIn | IntIn | ChoiceIn) -> Float | Int | Choice:
    match given:
        case FloatIn():
            step = _float(given.step)
            return Float(float(given.low), float(given.high), given.log, step, given.digits)
        case IntIn():
            return Int(given.low, given.high, given.log, given.step)
        case ChoiceIn():
            return Choice(given.options, ordered=given.ordered)


class AskIn(Body):
    """How many experiments; fixed: inputs that are to have a given value; context: what the inputs
    are now that nobody chooses.
    """

    count: Annotated[StrictInt, Field(ge=1, le=20)] = 1
    fixed: Params | None = None
    context: Params | None = None


class TellIn(Body):
    """A value with its noise's standard deviation if known, or ``"state": "failed"`` without a
    value; transient: the failure had nothing to do with the point.
    """

    value: Real | None = None
    noise_std: Positive | None = None
    state: Literal["complete", "failed"] = "complete"
    params: Params | None = None
    reason: Remark | None = None
    note: Remark | None = None
    transient: bool = False
    outcomes: Outcomes | None = None

    def remarks(self) -> dict[str, Any]:
        """What was told besides the outcome: what was really run, why it failed, a note."""
        given: dict[str, Any] = {"params": self.params, "reason": self.reason, "note": self.note}
        given |= {"transient": True} if self.transient else {}
        given["outcomes"] = self.outcomes or None
        return {name: each for name, each in given.items() if each is not None}


class TextIn(Body):
    """A number as it was typed. unit: the one it must have if it has one; noise: whether ± may
    stand behind it.
    """

    text: Text
    unit: Text = ""
    noise: StrictBool = False


class NumbersIn(Body):
    """Texts that must be numbers, and columns of texts that are numbers if every cell is one."""

    texts: Annotated[list[TextIn], Field(max_length=1000)] = Field(default_factory=list)
    columns: Annotated[
        list[Annotated[list[Text], Field(max_length=10_000)]], Field(max_length=1000)
    ] = Field(default_factory=list)


class NumberOut(BaseModel):
    """What was understood, or why a text is no number."""

    value: float | None = None
    noise_std: float | None = None
    error: str | None = None

    @staticmethod
    def of(typed: TextIn) -> NumberOut:
        try:
            if not typed.noise:
                return NumberOut(value=read_number(typed.text, "This", typed.unit))
            value, noise_std, _ = read_value(typed.text, "This", typed.unit)
        except NoRegretError as error:
            return NumberOut(error=str(error))
        return NumberOut(value=value, noise_std=noise_std)


class NumbersOut(BaseModel):
    numbers: list[NumberOut]
    columns: list[list[Any]]


class NoteIn(Body):
    """Left out or empty: no note."""

    note: Remark = ""


class WithdrawIn(Body):
    """later: it waits for the next ask; never: it is withdrawn and not proposed again."""

    then: Literal["later", "never"]


class PointIn(Body):
    """A point measured elsewhere; without a value: one to be tried next."""

    params: Params
    value: Real | None = None
    noise_std: Positive | None = None
    note: Remark | None = None
    outcomes: Outcomes | None = None

    def remarks(self) -> dict[str, Any]:
        return {} if self.note is None else {"note": self.note}


class Problem(BaseModel):
    detail: str


class StudyOut(BaseModel):
    key: str
    name: str
    goal: str
    trials: int
    waiting: int
    running: int
    complete: int
    failed: int
    withdrawn: int
    best: float | None
    created: str | None
    last_activity: str | None


class DescriptionOut(BaseModel):
    key: str
    name: str
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
    outcomes: dict[str, float] = Field(default_factory=dict)
    outcome_noise: dict[str, float] = Field(default_factory=dict)
    feasible: bool | None = None

    @staticmethod
    def of(trial: Trial) -> TrialOut:
        return TrialOut(**trial.to_json())


class ReasonOut(BaseModel):
    rule: str
    mean: float | None
    exploration: float | None
    active: str | None


class AlarmOut(BaseModel):
    kind: str
    what: str
    action: str
    serious: bool


class VersionOut(BaseModel):
    version: str
    model: str | None = None
    fitting: bool = False


class ChartOut(BaseModel):
    text: str
    rows: int
    columns: dict[str, list[Any]]


class ModelOut(BaseModel):
    """The recommended point and its certificate, of the version named; fitting: a newer one is
    being computed.
    """

    version: str | None
    fitting: bool
    trials: int | None = None
    error: str | None = None
    recommended: dict[str, Any] | None = None
    certificate: dict[str, Any] | None = None
    next: dict[str, Any] | list[float] | None = None
    importance: list[dict[str, Any]] | None = None
    resolution: str | None = None
    policy: dict[str, Any] | None = None
    feasibility: str | None = None


class SlicesOut(BaseModel):
    version: str
    error: str | None
    slices: list[dict[str, Any]]


class SliceOut(BaseModel):
    model_config = ConfigDict(extra="allow")

    version: str
    error: str | None


class ImportOut(BaseModel):
    imported: int


def summary_out(summary: Any) -> StudyOut:
    return StudyOut(
        key=key_of(summary.name),
        name=summary.name,
        goal=summary.goal,
        trials=summary.trials,
        waiting=summary.waiting,
        running=summary.running,
        complete=summary.complete,
        failed=summary.failed,
        withdrawn=summary.withdrawn,
        best=summary.best,
        created=summary.created,
        last_activity=summary.last_activity,
    )
