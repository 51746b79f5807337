"""An Optuna study that can be told any point: what the adapters of Optuna's samplers share."""

from __future__ import annotations

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


class ToldStudy:
    """Ask and tell on one study. A told point that was not asked (the initial design, a snapped
    candidate) becomes a trial of its own.
    """

    def __init__(self, setting: Setting, sampler: optuna.samplers.BaseSampler) -> None:
        self._setting = setting
        self._study = optuna.create_study(sampler=sampler)  # minimises
        self._distributions = {
            parameter.name: distribution(parameter) for parameter in setting.parameters
        }
        self._asked = None

    def tell(self, x: list[Value], y: float) -> None:
        params, asked, self._asked = self._setting.named(x), self._asked, None
        if asked is not None and asked.params == params:
            self._study.tell(asked, y)
            return
        if asked is not None:
            self._study.tell(
                asked, state=optuna.trial.TrialState.FAIL
            )  # never evaluated: must not stay pending
        self._study.add_trial(
            optuna.trial.create_trial(params=params, distributions=self._distributions, value=y)
        )

    def ask(self) -> list[Value]:
        self._asked = self._study.ask(self._distributions)
        return [self._asked.params[parameter.name] for parameter in self._setting.parameters]
