"""An Optuna study that can be told any point: what the adapters of Optuna's samplers share.

Known sums: inputs whose sum is fixed are sampled as its FAQ says of proportions, x_i = −ln u_i
divided by their sum; inequalities are given as constraints (``constraints_func``), and a proposal
that breaks one is pruned and the next asked for, TRIES times.
"""

from __future__ import annotations

import math

import optuna
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from research.benchmarks.peers.setting import Parameter, Setting, Value

optuna.logging.set_verbosity(optuna.logging.WARNING)


def distribution(parameter: Parameter):
    if parameter.kind == "choice":
        return CategoricalDistribution(parameter.options)
    if parameter.kind == "int":
        return IntDistribution(int(parameter.low), int(parameter.high), log=parameter.log)
    return FloatDistribution(parameter.low, parameter.high, log=parameter.log)


TRIES = 20
LEAST = 1e-9  # of u: −ln 0 is none


def limits(setting: Setting):
    """The function that Optuna asks for how far a trial breaks each inequality; None: there is
    none.
    """
    if all(each.is_equality for each in setting.linear):
        return None
    mixture = Mixture(setting)

    def violations(trial: optuna.trial.FrozenTrial) -> list[float]:
        named = mixture.values(trial.params)
        return [each.violation(named) for each in setting.linear if not each.is_equality]

    return violations


class Mixture:
    """Between a point and what Optuna samples for it."""

    def __init__(self, setting: Setting) -> None:
        self._known = {parameter.name: parameter for parameter in setting.parameters}
        self._sums = [each for each in setting.linear if each.is_equality]
        for each in self._sums:
            if any(c != 1 for _, c in each.coefficients):
                raise ValueError("a sum of proportions has coefficients of 1")
        self.names = {name for each in self._sums for name in each.names}

    def values(self, sampled: dict[str, Value]) -> dict[str, Value]:
        named = dict(sampled)
        for each in self._sums:
            parts = {n: -math.log(max(float(sampled[n]), LEAST)) for n in each.names}
            lows = {n: self._known[n].low for n in each.names}
            scale = (each.high - sum(lows.values())) / max(sum(parts.values()), LEAST)
            named.update({n: self._known[n].native(lows[n] + scale * parts[n]) for n in each.names})
        return named

    def sampled(self, named: dict[str, Value]) -> dict[str, Value]:
        given = dict(named)
        for each in self._sums:
            left = each.high - sum(self._known[n].low for n in each.names)
            for n in each.names:
                share = (float(named[n]) - self._known[n].low) / left
                given[n] = min(1.0, max(LEAST, math.exp(-len(each.names) * share)))
        return given


class ToldStudy:
    """Ask and tell on one study. A told point that was not asked (the initial design, a snapped
    candidate) becomes a trial of its own.
    """

    def __init__(self, setting: Setting, sampler: optuna.samplers.BaseSampler) -> None:
        self._setting, self._mixture = setting, Mixture(setting)
        self._study = optuna.create_study(sampler=sampler)  # minimises
        self._distributions = {
            parameter.name: FloatDistribution(LEAST, 1.0)
            if parameter.name in self._mixture.names
            else distribution(parameter)
            for parameter in setting.parameters
        }
        self._asked, self._point = None, None

    def tell(self, x: list[Value], y: float) -> None:
        params, asked, self._asked = self._setting.named(x), self._asked, None
        if asked is not None and self._point == params:
            self._study.tell(asked, y)
            return
        if asked is not None:
            self._study.tell(
                asked, state=optuna.trial.TrialState.FAIL
            )  # never evaluated: must not stay pending
        sampled = self._mixture.sampled(params)
        trial = optuna.trial.create_trial(
            params=sampled, distributions=self._distributions, value=y
        )
        if (broken := limits(self._setting)) is not None:  # what a sampler writes after a trial
            trial = optuna.trial.create_trial(
                params=sampled,
                distributions=self._distributions,
                value=y,
                system_attrs={"constraints": broken(trial)},
            )
        self._study.add_trial(trial)

    def fail(self, x: list[Value]) -> None:
        params, asked, self._asked = self._setting.named(x), self._asked, None
        if asked is not None and self._point == params:
            self._study.tell(asked, state=optuna.trial.TrialState.FAIL)

    def ask(self) -> list[Value]:
        for tried in range(TRIES):
            self._asked = self._study.ask(self._distributions)
            self._point = self._mixture.values(self._asked.params)
            inside = all(
                each.is_equality or each.violation(self._point) <= 0
                for each in self._setting.linear
            )
            if inside or tried == TRIES - 1:
                break
            self._study.tell(self._asked, state=optuna.trial.TrialState.PRUNED)
        return [self._point[parameter.name] for parameter in self._setting.parameters]
