"""Why a point is in a study: a frozen value, stored as JSON with a version.

``Decision`` says where the point came from, ``ModelDecision`` what the model behind it believed. A
strategy reads its own earlier decisions and needs no other memory.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from types import UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from noregret.errors import StorageError

VERSION = 1  # of the stored form
Source = Literal[
    "initial", "random", "exhaustive", "model", "added", "enqueued", "correction", "retry"
]
Kind = Literal["promise", "survey", "patrol"]
# in a decision's memory: no limit was kept yet, so there was no value; what it was for: "limits"
WITHOUT_VALUE = "without_value"
OF_OUTCOMES = ("outcomes", "chance_feasible")  # stored where there are any
CHOSEN: tuple[Source, ...] = ("initial", "random", "exhaustive", "model")  # by a strategy


@dataclass(frozen=True, slots=True)
class OutcomeDecision:
    """What the model of an outcome believed at the point, in the outcome's units; λ and
    lengthscales in those of its model.
    """

    name: str
    mean: float  #: forecast at the point
    std: float
    chance: float  #: that it is within its limit there; 1 or 0 where a band decided
    lengthscales: tuple[float, ...]
    noise_var: float | None = None
    noise_std: float | None = None
    lower: float | None = None  #: the band at the point, where one decided
    upper: float | None = None
    searched: int = 0
    improved: int = 0

    def to_json(self) -> dict[str, Any]:
        return {each.name: _plain(getattr(self, each.name)) for each in dataclasses.fields(self)}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> OutcomeDecision:
        return OutcomeDecision(**_checked(OutcomeDecision, data))


@dataclass(frozen=True, slots=True)
class ModelDecision:
    """What the model believed when it chose the point.

    Model units: a value is ``offset + scale·z`` (times −1 where the study minimises) with z the
    model's value, compressed if ``compression`` is not empty. Everything named ``…_std`` and the
    forecast are in the values' units, ``mean`` and ``recommended_bound`` in their sign too.
    """

    t: int  #: counts the model's decisions from 1
    lengthscales: tuple[float, ...]  #: θ_t of the class in force, on the unit cube
    mean: float  #: forecast of f at the point: its median
    std: float  #: half the distance of the forecast's one-sigma quantiles
    h: float = 1.0  #: how much wider the class is than at the start, g^d·b
    g: float = 1.0  #: the lengthscales' share of it
    b: float = 1.0  #: the norm ball's share of it
    norm_bound: float | None = None  #: B_t, in model units
    norm_lower_bound: float | None = None  #: what the data require of ‖f‖ at θ_t, in model units
    delta: float | None = None  #: the share of the failure probability spent on this class
    beta_sqrt: float | None = None  #: what multiplied the latent std; None: no band decided
    proved: bool = False  #: whether that width is a theorem's, under the strategy's condition
    exploration: float = 1.0  #: the part of the width that chose the point
    information_gain: float | None = None  #: I_t in nats
    noise_var: float | None = None  #: of a value to come, in model units
    noise_std: float | None = None  #: the same in the values' units
    fitted_lengthscales: tuple[float, ...] | None = None  #: the estimate, None if none was made
    searched: int = 0  #: points at the last search from all starts
    improved: int = 0  #: points at the last improvement of the estimate
    active: str = "fit"  #: what set the lengthscales: fit, schedule or both
    instant_regret_bound: float | None = None  #: 2β^½σ at the point, in model units
    survey: bool = False  #: whether it looked around instead of for the best value
    kind: Kind = "promise"  #: what the decision was for, see docs/strategies.md
    chance_of_failing: float | None = None  #: learnt from failures; None: there were none
    offset: float = 0.0  #: of the values in model units
    scale: float = 1.0  #: of the values in model units
    compression: tuple[tuple[float, float], ...] = ()  #: (mean, std) of each pass
    recommended_bound: float | None = None  #: the safe end of the band at the recommended point
    reference: float | None = None  #: what a widening rule compared with
    reference_scale: float | None = None  #: its unit, fixed at the first decision
    estimate: float | None = None  #: what it compared
    acquisition: str = "ucb"  #: whose argmax the point is
    outcomes: tuple[OutcomeDecision, ...] = ()  #: of a study with limits
    chance_feasible: float | None = None  #: that all are within their limits

    def to_json(self) -> dict[str, Any]:
        names = [each.name for each in dataclasses.fields(self) if each.name not in OF_OUTCOMES]
        data = {name: _plain(getattr(self, name)) for name in names}
        if self.outcomes:
            data["outcomes"] = [each.to_json() for each in self.outcomes]
            data["chance_feasible"] = self.chance_feasible
        return data

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> ModelDecision:
        told = tuple(map(OutcomeDecision.from_json, data.get("outcomes", ())))
        return ModelDecision(**_checked(ModelDecision, {**data, "outcomes": told}))


@dataclass(frozen=True, slots=True)
class Decision:
    """Where a point came from.

    memory: what a strategy of one's own wants to read again at its next decision; plain JSON.
    """

    source: Source = "added"
    model: ModelDecision | None = None  #: None: no model chose the point
    pending: tuple[int, ...] = ()  #: trials under way when it was chosen: with them it is derived
    fixed: Mapping[str, Any] | None = None  #: values that some parameters had to have
    memory: Mapping[str, Any] = field(default_factory=dict)
    seen: int | None = None  #: how many trials were known; None: all with a smaller number
    draw: int | None = None  #: which randomness; None: that of the number of trials known
    algorithm: int = 0  #: the strategy's number: by which version of its rule it was chosen

    @property
    def chosen(self) -> bool:
        """Whether a strategy chose the point: not added, enqueued, a correction or a retry."""
        return self.source in CHOSEN

    @property
    def in_design(self) -> bool:
        """Whether it is part of the initial design."""
        return self.source == "initial" and WITHOUT_VALUE not in self.memory

    @property
    def is_patrol(self) -> bool:
        kind = self.memory.get(WITHOUT_VALUE) if self.model is None else self.model.kind
        return kind == "patrol"

    def signed(self, sign: float) -> Decision:
        """With the forecast times ``sign``: from what is maximised to the values, and back."""
        if self.model is None or sign > 0:
            return self
        bound = self.model.recommended_bound
        model = replace(
            self.model,
            mean=-self.model.mean,
            recommended_bound=None if bound is None else -bound,
        )
        return replace(self, model=model)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values; what says nothing is left out."""
        data: dict[str, Any] = {"version": VERSION, "source": self.source}
        if self.model is not None:
            data["model"] = self.model.to_json()
        if self.pending:
            data["pending"] = list(self.pending)
        if self.fixed is not None:
            data["fixed"] = dict(self.fixed)
        if self.memory:
            data["memory"] = dict(self.memory)
        if self.seen is not None:
            data["seen"] = self.seen
        if self.draw is not None:
            data["draw"] = self.draw
        if self.algorithm:
            data["algorithm"] = self.algorithm
        return data

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Decision:
        if not data:  # a damaged one that was recovered: nothing is known of it
            return Decision()
        version = data.get("version")
        if not isinstance(version, int) or version < 1:
            raise ValueError(f"a decision's version is {version!r}")
        if version > VERSION:
            raise StorageError(
                f"a decision was written by a newer version of noregret (form {version}, this one"
                f" reads {VERSION}): upgrade noregret"
            )
        model = data.get("model")
        believed = None if model is None else ModelDecision.from_json(model)
        return Decision(**_checked(Decision, {**data, "model": believed}))


def _checked(kind: type, data: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a dataclass that JSON values name; ValueError for one that is of another type:
    a strategy would meet it far from here.
    """
    values = {name: _tuples(data[name]) for name in _types(kind) if name in data}
    for name, value in values.items():
        if not _fits(value, _types(kind)[name]):
            raise ValueError(f"its {name} is {str(data[name])[:80]}")
    return values


@cache
def _types(kind: type) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {each.name: hints[each.name] for each in dataclasses.fields(kind)}


def _fits(value: Any, hint: Any) -> bool:
    origin, options = get_origin(hint), get_args(hint)
    if hint is float:
        number = isinstance(value, float | int) and not isinstance(value, bool)
        return number and math.isfinite(value)
    if hint is int:  # counts and numbers of trials
        return isinstance(value, int) and not isinstance(value, bool) and value >= 0
    if origin is Literal:  # a word, which a strategy of another package may have of its own
        return isinstance(value, str)
    if origin is UnionType:
        return any(_fits(value, option) for option in options)
    if origin is tuple:
        if not isinstance(value, tuple):
            return False
        each = options[:1] * len(value) if options[-1] is ... else options
        return len(value) == len(each) and all(map(_fits, value, each))
    return isinstance(value, origin or hint)


def _plain(value: Any) -> Any:
    return [_plain(item) for item in value] if isinstance(value, (tuple, list)) else value


def _tuples(value: Any) -> Any:
    return tuple(_tuples(item) for item in value) if isinstance(value, list) else value
