"""Ax's Client with its default generation strategy ("fast"). Told points are attached trials.

Its own start is 5 trials, the centre and Sobol points, and attached trials count among them: its
documented default. Without noise a value has the standard error 0, with noise none is given and Ax
infers it, as documented. Candidates: in the box; a snapped trial is marked failed. Known sums are
its parameter constraints; it has no equalities, so the last input of one follows from the others.
"""

from __future__ import annotations

from ax.api.client import Client
from ax.api.configs import ChoiceParameterConfig, RangeParameterConfig

from research.benchmarks.peers.eliminated import Eliminated
from research.benchmarks.peers.setting import Parameter, Setting, Value

PEER = "ax-platform"
ENVIRONMENT = "torch"


def config(p: Parameter) -> ChoiceParameterConfig | RangeParameterConfig:
    if p.kind == "choice":
        return ChoiceParameterConfig(
            p.name, list(p.options), type(p.options[0]).__name__, is_ordered=False
        )
    return RangeParameterConfig(
        p.name, (p.low, p.high), p.kind, scaling="log" if p.log else "linear"
    )


class Adapter:
    def __init__(self, setting: Setting) -> None:
        self._setting, self._client, self._asked = (
            setting,
            Client(random_seed=setting.seed),
            (None, None),
        )
        self._inputs = Eliminated(setting)
        limits = {"parameter_constraints": texts} if (texts := self._inputs.texts()) else {}
        self._client.configure_experiment([config(p) for p in self._inputs.free], **limits)
        self._client.configure_optimization("-y")

    def tell(self, x: list[Value], y: float) -> None:
        (trial, asked), self._asked = self._asked, (None, None)
        if asked not in (None, x):
            self._client.mark_trial_failed(trial)
        index = trial if asked == x else self._client.attach_trial(self._inputs.named(x))
        self._client.complete_trial(index, {"y": y if self._setting.noisy else (y, 0.0)})

    def ask(self) -> list[Value]:
        [(trial, params)] = self._client.get_next_trials(max_trials=1).items()
        self._asked = (trial, self._inputs.whole(params))
        return self._asked[1]
