"""Who plays the suite outcomes: told points, values and constraints in, the next point out.

Peers with their defaults, but for what a study without noise and with a shared start asks of them,
as in the suites of ``regret``: Optuna's GP sampler gets ``deterministic_objective`` and one start
trial instead of ten, Ax a standard error of 0. A context is held by PartialFixedSampler, by
``fixed_features`` of BoTorch and ``fixed_parameters`` of Ax.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import noregret as nr
from research.benchmarks.limited import X

METHODS = ("noregret", "botorch", "ax", "optuna_gp", "optuna_tpe", "random")


def initial(bounds: Sequence[tuple[float, float]], seed: int) -> np.ndarray:
    rng = np.random.default_rng([seed, 11])
    low, high = np.array(bounds, dtype=float).T
    return low + (high - low) * rng.random((max(2 * len(bounds), 4), len(bounds)))


# -- the methods: (told points, values, constraints) → next point --


def asker_of(method: str, bounds: Sequence[tuple[float, float]], seed: int, limits: int) -> Any:
    if method == "noregret":
        return Ours(bounds, seed, limits)
    if method == "botorch":
        return Botorch(bounds, seed)
    if method == "ax":
        return Ax(bounds, seed, limits)
    if method.startswith("optuna"):
        return Optuna(method, bounds, seed)
    return Random(bounds, seed)


class Random:
    def __init__(self, bounds: Any, seed: int) -> None:
        self.low, self.high = np.array(bounds, dtype=float).T
        self.rng = np.random.default_rng([seed, 5])

    def ask(self, given: float | None) -> list[float]:
        x = self.low + (self.high - self.low) * self.rng.random(len(self.low))
        return [*x[:-1].tolist(), x[-1] if given is None else given]

    def tell(self, x: X, y: float, g: list[float]) -> None:
        pass


class Ours:
    def __init__(self, bounds: Any, seed: int, limits: int) -> None:
        outcomes: Any = {f"g{i}": nr.AtMost(0.0) for i in range(limits)}
        names = [f"x{i}" for i in range(len(bounds))]
        space = {name: nr.Float(*pair) for name, pair in zip(names, bounds, strict=True)}
        self.names, context = names, () if limits else (names[-1],)
        self.study = nr.Study(space, "minimize", seed=seed, outcomes=outcomes, context=context)
        self.asked: Any = None

    def ask(self, given: float | None) -> list[float]:
        self.asked = self.study.ask(context=None if given is None else {self.names[-1]: given})
        return [self.asked.params[name] for name in self.names]

    def tell(self, x: X, y: float, g: list[float]) -> None:
        told: Any = {f"g{i}": each for i, each in enumerate(g)} or None
        if self.asked is None:
            self.study.add(dict(zip(self.names, x, strict=True)), y, outcomes=told)
        else:
            self.study.tell(self.asked, y, outcomes=told)
            self.asked = None


class Optuna:
    def __init__(self, method: str, bounds: Any, seed: int) -> None:
        import optuna
        from optuna.distributions import FloatDistribution

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self.optuna = optuna
        kind = "TPESampler" if method == "optuna_tpe" else "GPSampler"

        def constraints(trial: Any) -> Any:
            return trial.user_attrs["g"]

        self.constraints, self.kind, self.seed = constraints, kind, seed
        self.names = [f"x{i}" for i in range(len(bounds))]
        self.asked: Any = None
        self.distributions: dict[str, Any] = {
            name: FloatDistribution(*pair) for name, pair in zip(self.names, bounds, strict=True)
        }
        self.study = optuna.create_study(sampler=self._sampler(True))

    def _sampler(self, limited: bool) -> Any:
        limits: Any = self.constraints if limited else None
        if self.kind == "TPESampler":
            return self.optuna.samplers.TPESampler(seed=self.seed, constraints_func=limits)
        return self.optuna.samplers.GPSampler(
            seed=self.seed,
            n_startup_trials=1,
            deterministic_objective=True,
            constraints_func=limits,
        )

    def ask(self, given: float | None) -> list[float]:
        if given is not None:
            base = getattr(self, "base", None) or self._sampler(False)
            self.base = base
            self.study.sampler = self.optuna.samplers.PartialFixedSampler(
                {self.names[-1]: given}, base
            )
        self.asked = self.study.ask(self.distributions)
        return [self.asked.params[name] for name in self.names]

    def tell(self, x: X, y: float, g: list[float]) -> None:
        if self.asked is None:
            self.study.add_trial(
                self.optuna.trial.create_trial(
                    params=dict(zip(self.names, x, strict=True)),
                    distributions=self.distributions,
                    value=y,
                    user_attrs={"g": g},
                    system_attrs={"constraints": g} if g else {},
                )
            )
        else:
            self.asked.set_user_attr("g", g)
            self.study.tell(self.asked, y)
            self.asked = None


class Botorch:
    """SingleTaskGP with its defaults and an output per outcome, without noise as in
    ``peers.botorch_loop``; LogConstrainedExpectedImprovement, LogProbabilityOfFeasibility while
    nothing is feasible; in context qLogExpectedImprovement, which did far better there than the
    analytic one. The tutorials' 10 restarts and 512 raw samples.
    """

    def __init__(self, bounds: Any, seed: int) -> None:
        import torch

        torch.manual_seed(seed)
        torch.set_num_threads(1)
        self.low, self.high = np.array(bounds, dtype=float).T
        self.rows: list[tuple[X, float, list[float]]] = []

    def tell(self, x: X, y: float, g: list[float]) -> None:
        self.rows.append((list(x), y, g))

    def ask(self, given: float | None) -> list[float]:
        import torch
        from botorch.fit import fit_gpytorch_mll
        from botorch.models import SingleTaskGP
        from botorch.models.transforms import Standardize
        from botorch.optim import optimize_acqf
        from gpytorch.mlls import ExactMarginalLogLikelihood

        points = [(np.array(x) - self.low) / (self.high - self.low) for x, _, _ in self.rows]
        told = [[-y, *g] for _, y, g in self.rows]
        inputs, outputs = (
            torch.tensor(np.array(each), dtype=torch.double) for each in (points, told)
        )
        noise = torch.full_like(outputs, 1e-6) * outputs.var(0, correction=0).clamp_min(1e-12)
        model = SingleTaskGP(
            inputs, outputs, noise, outcome_transform=Standardize(outputs.shape[-1])
        )
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        fixed = None
        if given is not None:
            fixed = {len(self.low) - 1: (given - self.low[-1]) / (self.high[-1] - self.low[-1])}
        unit = torch.stack([torch.zeros(len(self.low)), torch.ones(len(self.low))]).double()
        found, _ = optimize_acqf(
            self._acquisition(model, given),
            unit,
            1,
            num_restarts=10,
            raw_samples=512,
            fixed_features=fixed,
        )
        return (self.low + (self.high - self.low) * found[0].detach().numpy()).tolist()

    def _acquisition(self, model: Any, given: float | None) -> Any:
        from botorch.acquisition.analytic import (
            LogConstrainedExpectedImprovement,
            LogProbabilityOfFeasibility,
        )
        from botorch.acquisition.logei import qLogExpectedImprovement

        if given is not None:  # over the best near this context, or over all
            reach = 0.1 * (self.high - self.low)[-1]
            near = [-y for x, y, _ in self.rows if abs(x[-1] - given) < reach]
            return qLogExpectedImprovement(model, max(near or [-y for _, y, _ in self.rows]))
        limits = {1 + i: (None, 0.0) for i in range(len(self.rows[0][2]))}
        kept = [-y for _, y, g in self.rows if max(g) <= 0]
        if not kept:
            return LogProbabilityOfFeasibility(model, limits)
        return LogConstrainedExpectedImprovement(model, max(kept), 0, limits)


class Ax:
    """Client with its default generation strategy and outcome constraints; told points are
    attached trials.
    """

    def __init__(self, bounds: Any, seed: int, limits: int) -> None:
        import logging

        from ax.api.client import Client
        from ax.api.configs import RangeParameterConfig

        logging.getLogger("ax").setLevel(logging.ERROR)
        self.names = [f"x{i}" for i in range(len(bounds))]
        self.client, self.asked = Client(random_seed=seed), None
        self.client.configure_experiment(
            [
                RangeParameterConfig(name, (float(low), float(high)), "float")
                for name, (low, high) in zip(self.names, bounds, strict=True)
            ]
        )
        self.client.configure_optimization(
            "-y", outcome_constraints=[f"g{i} <= 0" for i in range(limits)]
        )

    def ask(self, given: float | None) -> list[float]:
        held = None if given is None else {self.names[-1]: given}
        found = self.client.get_next_trials(max_trials=1, fixed_parameters=held)
        [(self.asked, params)] = found.items()
        return [float(params[name]) for name in self.names]

    def tell(self, x: X, y: float, g: list[float]) -> None:
        if self.asked is None:
            self.asked = self.client.attach_trial(
                {name: float(v) for name, v in zip(self.names, x, strict=True)}
            )
        told = {"y": (y, 0.0)} | {f"g{i}": (each, 0.0) for i, each in enumerate(g)}
        self.client.complete_trial(self.asked, told)
        self.asked = None
