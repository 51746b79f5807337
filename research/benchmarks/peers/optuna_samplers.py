"""Adapters of Optuna's samplers: one study that accepts any point.

Known sums: inputs whose sum is fixed are sampled as Optuna's FAQ says of proportions, x_i = −ln u_i
divided by their sum; inequalities are given as constraints (``constraints_func``), and a proposal
that violates one is pruned and the next asked for, TRIES times. Outcome constraints are given as
constraints too.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import optuna
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from research.benchmarks.peers.setting import Parameter, Setting, Value

optuna.logging.set_verbosity(optuna.logging.WARNING)
TRIES = 20
MIN_SHARE = 1e-9  # of u: ln 0 does not exist
MEASURED = "limits"  # user attribute with the outcome constraints of a trial


def distribution(parameter: Parameter) -> Any:
    if parameter.kind == "choice":
        return CategoricalDistribution(parameter.options)
    if parameter.kind == "int":
        return IntDistribution(int(parameter.low), int(parameter.high), log=parameter.log)
    return FloatDistribution(parameter.low, parameter.high, log=parameter.log)


def constraints(setting: Setting) -> Callable[[Any], list[float]] | None:
    """How far a trial violates each inequality and outcome constraint; None where there is none."""
    if not setting.limits and all(row.is_equality for row in setting.linear):
        return None
    mixture = Mixture(setting)

    def violations(trial: Any) -> list[float]:
        named = mixture.values(trial.params)
        known = [row.violation(named) for row in setting.linear if not row.is_equality]
        return [*known, *trial.user_attrs.get(MEASURED, [])]

    return violations


class Mixture:
    """Between a point and what Optuna samples for it."""

    def __init__(self, setting: Setting) -> None:
        self._parameters = {parameter.name: parameter for parameter in setting.parameters}
        self._sums = [row for row in setting.linear if row.is_equality]
        for row in self._sums:
            if any(c != 1 for _, c in row.coefficients):
                raise ValueError("a sum of proportions must have coefficients of 1")
        self.names = {name for row in self._sums for name in row.names}

    def values(self, sampled: dict[str, Value]) -> dict[str, Value]:
        named = dict(sampled)
        for row in self._sums:
            parts = {n: -math.log(max(float(sampled[n]), MIN_SHARE)) for n in row.names}
            lows = {n: self._parameters[n].low for n in row.names}
            scale = (row.high - sum(lows.values())) / max(sum(parts.values()), MIN_SHARE)
            for n in row.names:
                named[n] = self._parameters[n].native(lows[n] + scale * parts[n])
        return named

    def sampled(self, named: dict[str, Value]) -> dict[str, Value]:
        shares = dict(named)
        for row in self._sums:
            left = row.high - sum(self._parameters[n].low for n in row.names)
            for n in row.names:
                share = (float(named[n]) - self._parameters[n].low) / left
                shares[n] = min(1.0, max(MIN_SHARE, math.exp(-len(row.names) * share)))
        return shares


class OptunaStudy:
    """Ask and tell on one study. A told point that was not asked for (a common start, a snapped
    candidate) becomes a trial of its own.
    """

    def __init__(self, setting: Setting, sampler: Any) -> None:
        self._setting, self._mixture = setting, Mixture(setting)
        self._study = optuna.create_study(sampler=sampler)  # minimises
        self._distributions = {
            parameter.name: FloatDistribution(MIN_SHARE, 1.0)
            if parameter.name in self._mixture.names
            else distribution(parameter)
            for parameter in setting.parameters
        }
        self._asked: Any = None
        self._point: dict[str, Value] | None = None

    def tell(self, x: list[Value], y: float, limits: list[float]) -> None:
        params, asked, self._asked = self._setting.named(x), self._asked, None
        if asked is not None and self._point == params:
            asked.set_user_attr(MEASURED, limits)
            self._study.tell(asked, y)
            return
        if asked is not None:  # never evaluated: must not stay pending
            self._study.tell(asked, state=optuna.trial.TrialState.FAIL)
        trial: dict[str, Any] = {
            "params": self._mixture.sampled(params),
            "distributions": self._distributions,
            "value": y,
            "user_attrs": {MEASURED: limits},
        }
        if (violations := constraints(self._setting)) is not None:  # as a sampler writes them
            measured = violations(optuna.trial.create_trial(**trial))
            trial["system_attrs"] = {"constraints": measured}
        self._study.add_trial(optuna.trial.create_trial(**trial))

    def fail(self, x: list[Value]) -> None:
        params, asked, self._asked = self._setting.named(x), self._asked, None
        if asked is not None and self._point == params:
            self._study.tell(asked, state=optuna.trial.TrialState.FAIL)

    def ask(self) -> list[Value]:
        for attempt in range(TRIES):
            self._asked = self._study.ask(self._distributions)
            self._point = self._mixture.values(self._asked.params)
            inside = all(
                row.is_equality or row.violation(self._point) <= 0 for row in self._setting.linear
            )
            if inside or attempt == TRIES - 1:
                break
            self._study.tell(self._asked, state=optuna.trial.TrialState.PRUNED)
        assert self._point is not None
        return [self._point[parameter.name] for parameter in self._setting.parameters]


class TPE(OptunaStudy):
    """TPESampler with its defaults: 10 random trials first, among which told points count. It has
    no option for noise. Candidates: it proposes in the box.
    """

    def __init__(self, setting: Setting) -> None:
        limits = constraints(setting)
        sampler = optuna.samplers.TPESampler(seed=setting.seed, constraints_func=limits)
        super().__init__(setting, sampler)


class GP(OptunaStudy):
    """GPSampler with its defaults except for two arguments. ``deterministic_objective`` is true
    without noise, as its documentation asks. With a common start ``n_startup_trials=1`` instead of
    10: told points take the place of the random start. Candidates: it proposes in the box.
    """

    def __init__(self, setting: Setting) -> None:
        sampler = optuna.samplers.GPSampler(
            seed=setting.seed,
            n_startup_trials=10 if setting.own_start else 1,
            deterministic_objective=not setting.noisy,
            constraints_func=constraints(setting),
        )
        super().__init__(setting, sampler)
