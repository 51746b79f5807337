"""Why a point is in a study: a frozen value, stored as JSON with a version.

``Decision`` says where the point came from, ``ModelDecision`` what was expected there. The payload
belongs to the strategy, which reads it again at later decisions and needs no other memory. For
everybody else it turns it into an ``Explanation``.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from types import UnionType
from typing import Any, Literal, NoReturn, TypeVar, get_args, get_origin, get_type_hints

import numpy as np

from noregret.errors import StorageError

VERSION = 1  # of the stored form
Chosen = Literal["initial", "random", "exhaustive", "feasibility", "model"]
Source = Literal[Chosen, "added", "enqueued", "correction", "retry"]
CHOSEN: tuple[Source, ...] = get_args(Chosen)
Kind = Literal["promise", "survey", "patrol"]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ModelDecision:
    """What a model expected at the point that it chose, in the values' units and sign."""

    t: int  #: counts the model's decisions from 1
    mean: float  #: forecast of f at the point: its median
    std: float  #: half the distance of the forecast's one-sigma quantiles
    kind: Literal[Kind, Source] = "promise"  #: what the decision was for, see docs/strategies.md


@dataclass(frozen=True, slots=True)
class Decision:
    """Where a point came from."""

    source: Source = "added"  #: of ``CHOSEN`` if a strategy chose it
    model: ModelDecision | None = None  #: None: no model chose the point
    pending: tuple[int, ...] = ()  #: trials under way when it was chosen: with them it is derived
    fixed: Mapping[str, Any] | None = None  #: values that some parameters had to have
    #: the strategy's own; plain JSON
    payload: Mapping[str, Any] = field(default_factory=dict, repr=False)
    seen: int | None = None  #: how many trials were known; None: all with a smaller number
    draw: int | None = None  #: which randomness; None: that of the number of trials known
    algorithm: int = 0  #: the strategy's number: the version of its rule, and of the payload

    @property
    def chosen(self) -> bool:
        """Whether a strategy chose the point: not added, enqueued, a correction or a retry."""
        return self.source in CHOSEN

    @property
    def is_patrol(self) -> bool:
        return self.model is not None and self.model.kind == "patrol"

    def signed(self, sign: float) -> Decision:
        """With the forecast times ``sign``: from what is maximised to the values, and back."""
        if self.model is None or sign > 0:
            return self
        return replace(self, model=replace(self.model, mean=-self.model.mean))

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values; what says nothing is left out."""
        data: dict[str, Any] = {"version": VERSION, "source": self.source}
        fields = as_json(self).items()
        return data | {name: value for name, value in fields if value != _SAYS_NOTHING[name]}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Decision:
        if not data:  # a damaged one that was recovered: nothing is known of it
            return Decision()
        version = data.get("version")
        if not isinstance(version, int) or version < 1:
            raise ValueError(f"a decision's version is {version!r}")
        if version > VERSION:
            raise StorageError(f"a newer version wrote form {version}, this one reads {VERSION}")
        return Decision(**typed_fields(Decision, data))


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


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a strategy says of a decision of its model: for the shell, the page and the diagnostics.

    Model units: f is ``offset + scale·z`` (times −1 where the study minimises) with z the model's
    value, compressed once per (mean, std) in ``compression``. The forecast is Gaussian in them.
    """

    rule: str  #: why this point, in a sentence
    active: str | None = None  #: what set the function class, in a sentence
    latent_std: float | None = None  #: of f at the point, in model units; None: std / scale
    beta_sqrt: float | None = None  #: half of the band's width in that std; None: there is no band
    exploration: float | None = None  #: part of it that UCB added; None: UCB did not choose
    recommended_bound: float | None = None  #: safe end of the band at the recommended point, of f
    proved: bool = False  #: whether the band is a theorem's, under the strategy's condition
    noise_std: float = 0.0  #: of a value, in the values' units
    offset: float = 0.0
    scale: float = 1.0
    compression: tuple[tuple[float, float], ...] = ()
    outcomes: tuple[OutcomeDecision, ...] = ()  #: of a study with limits
    numbers: Mapping[str, Any] = field(default_factory=dict)  #: what else it recorded, by name


# -- frozen dataclasses as JSON values --


def as_json(value: Any) -> Any:
    """A dataclass of numbers, texts, tuples and the like as JSON values."""
    if dataclasses.is_dataclass(value):
        names = (field.name for field in dataclasses.fields(value))
        return {name: as_json(getattr(value, name)) for name in names}
    if isinstance(value, Mapping):
        return dict(value)
    return [as_json(item) for item in value] if isinstance(value, (tuple, list)) else value


_SAYS_NOTHING = as_json(Decision())


def is_number(value: Any) -> bool:
    """Whether a value is a finite real number, and not a truth value."""
    kinds = (int, float, np.integer, np.floating)
    return isinstance(value, kinds) and not isinstance(value, bool) and math.isfinite(value)


def typed_fields(kind: Callable[..., Any], data: Mapping[str, Any]) -> dict[str, Any]:
    """JSON values as the fields of a dataclass; names that it does not have are ignored.

    Raises:
        ValueError: A value is of another type than its field: a strategy would meet it far away.
    """
    values = {}
    for name, convert in _converters(kind).items():
        if name in data:
            try:
                values[name] = convert(data[name])
            except TypeError:
                raise ValueError(f"its {name} is {str(data[name])[:80]}") from None
    return values


def payload_as(kind: Callable[..., T], decision: Decision) -> T | None:
    """The payload as what its strategy made it of; None: it is another strategy's, or damaged."""
    try:
        return kind(**typed_fields(kind, decision.payload))
    except (TypeError, ValueError):  # TypeError: a value is missing
        return None


@cache
def _converters(kind: Any) -> dict[str, Callable[[Any], Any]]:
    hints = get_type_hints(kind)
    return {field.name: _converter(hints[field.name]) for field in dataclasses.fields(kind)}


def _converter(hint: Any) -> Callable[[Any], Any]:
    """From a JSON value to the type that a field has; TypeError if it is none of those."""
    origin, options = get_origin(hint), get_args(hint)
    if origin is UnionType:
        inner = [_converter(option) for option in options]
        return partial(_first_of, inner)
    if origin is tuple:
        inner = [_converter(option) for option in options if option is not ...]
        return partial(_tuple_of, inner, options[-1] is ...)
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return lambda value: (
            hint(**typed_fields(hint, value)) if isinstance(value, Mapping) else _refuse()
        )
    if origin is Mapping:
        return partial(_mapping_of, _converter(options[1]))
    kind = str if origin is Literal else origin or hint  # a word, which may be another package's
    fits = _FITS.get(hint, lambda value: isinstance(value, kind))
    return lambda value: value if fits(value) else _refuse()


def _first_of(inner: Sequence[Callable[[Any], Any]], value: Any) -> Any:
    for convert in inner:
        try:
            return convert(value)
        except TypeError:
            continue
    return _refuse()


def _tuple_of(inner: Sequence[Callable[[Any], Any]], is_open: bool, value: Any) -> Any:
    if not isinstance(value, (list, tuple)):
        return _refuse()
    if is_open:
        return tuple(map(inner[0], value))
    return tuple(convert(item) for convert, item in zip(inner, value, strict=True))


def _mapping_of(convert: Callable[[Any], Any], value: Any) -> Any:
    if not isinstance(value, Mapping):
        return _refuse()
    return {name: convert(item) for name, item in value.items()}


def _refuse() -> NoReturn:
    raise TypeError


_FITS: dict[Any, Callable[[Any], bool]] = {
    Any: lambda value: True,
    bool: lambda value: isinstance(value, bool),
    float: is_number,
    # counts and numbers of trials
    int: lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= 0,
}
