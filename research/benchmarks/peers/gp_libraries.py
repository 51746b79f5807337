"""Adapters of BoTorch, scikit-optimize, Ax, HEBO and SMAC.

Each imports its library when it is made: they live in different environments. All keep their
documented defaults except where the class says otherwise.
"""

from __future__ import annotations

import math
import tempfile
from pathlib import Path
from typing import Any

from research.benchmarks.peers.setting import Parameter, Setting, Sum, Value
from research.benchmarks.peers.worker import WorstAtFailure


class BoTorchLogEI(WorstAtFailure):
    """The loop of BoTorch's tutorials: SingleTaskGP with its default priors on the unit cube,
    outcomes standardised, refitted at every ask, and the log of expected improvement.

    Without noise the variance that its documentation names for exact observations, 1e-6 of the
    standardised values, and LogExpectedImprovement; with noise an inferred one and
    qLogNoisyExpectedImprovement. optimize_acqf with the tutorials' 10 restarts and 512 raw samples,
    integers rounded after it; optimize_acqf_mixed over the combinations of choices (one-hot),
    optimize_acqf_discrete over candidates. Known sums are its equality and inequality constraints.
    Its own start: 2(d + 1) scrambled Sobol points, as in its tutorials.
    """

    def __init__(self, setting: Setting) -> None:
        import torch

        torch.manual_seed(setting.seed)
        self._setting = setting
        self._points: list[list[float]] = []
        self._values: list[float] = []
        sobol = torch.quasirandom.SobolEngine(setting.dimension, scramble=True, seed=setting.seed)
        count = 2 * (len(setting.parameters) + 1) if setting.own_start else 0
        self._start = sobol.draw(count, dtype=torch.float64).tolist()

    def observe(self, x: list[Value], y: float) -> None:
        self._points.append(self._setting.encode(x))
        self._values.append(-y)

    def ask(self) -> list[Value]:
        import torch
        from botorch.optim import optimize_acqf, optimize_acqf_discrete, optimize_acqf_mixed

        setting = self._setting
        if len(self._points) < len(self._start):
            return setting.decode(self._start[len(self._points)])
        acquisition = self._acquisition()
        if setting.candidates is not None:
            choices = torch.tensor(
                [setting.encode(row) for row in setting.candidates], dtype=torch.float64
            )
            best, _ = optimize_acqf_discrete(acquisition, q=1, choices=choices)
            return list(setting.candidates[int((choices - best).square().sum(-1).argmin())])
        ends = [[0.0] * setting.dimension, [1.0] * setting.dimension]
        box = torch.tensor(ends, dtype=torch.float64)
        effort = {"q": 1, "num_restarts": 10, "raw_samples": 512}
        if len(corners := setting.corners()) == 1:
            best, _ = optimize_acqf(acquisition, box, **effort, **self._sums())
        else:
            best, _ = optimize_acqf_mixed(acquisition, box, **effort, fixed_features_list=corners)
        return setting.decode(best[0].tolist())

    def _acquisition(self) -> Any:
        import torch
        from botorch.acquisition import LogExpectedImprovement, qLogNoisyExpectedImprovement
        from botorch.fit import fit_gpytorch_mll
        from botorch.models import SingleTaskGP
        from botorch.models.transforms import Standardize
        from gpytorch.mlls import ExactMarginalLogLikelihood

        X = torch.tensor(self._points, dtype=torch.float64)
        Y = torch.tensor(self._values, dtype=torch.float64).unsqueeze(-1)
        noise = None
        if not self._setting.noisy:
            noise = torch.full_like(Y, 1e-6) * Y.var(correction=0).clamp_min(1e-12)
        model = SingleTaskGP(X, Y, noise, outcome_transform=Standardize(m=1))
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        if self._setting.noisy:
            return qLogNoisyExpectedImprovement(model, X_baseline=X, prune_baseline=True)
        return LogExpectedImprovement(model, best_f=Y.max())

    def _sums(self) -> dict[str, list[Any]]:
        """Known sums as optimize_acqf takes them: Σ = rhs, and Σ ≥ rhs."""
        import torch

        equal, least = [], []
        for columns, factors, low, high in self._setting.cube_sums():
            at, by = torch.tensor(columns), torch.tensor(factors, dtype=torch.float64)
            if low == high:
                equal.append((at, by, low))
                continue
            if math.isfinite(low):
                least.append((at, by, low))
            if math.isfinite(high):
                least.append((at, -by, -high))
        sums = {"equality_constraints": equal, "inequality_constraints": least}
        return {name: rows for name, rows in sums.items() if rows}


class ScikitOptimize(WorstAtFailure):
    """Optimizer with its Gaussian process and gp_hedge. ``noise`` is "gaussian" (inferred), and the
    documented 1e-10 for an exact objective. With a common start ``n_initial_points=1`` instead of
    10: told points take the place of the random start. Candidates: it proposes in the box.
    """

    def __init__(self, setting: Setting) -> None:
        from skopt import Optimizer
        from skopt.utils import cook_estimator

        space = [self._dimension(parameter) for parameter in setting.parameters]
        model = cook_estimator(
            "GP", space, random_state=setting.seed, noise="gaussian" if setting.noisy else 1e-10
        )
        self._optimizer = Optimizer(
            space,
            model,
            n_initial_points=10 if setting.own_start else 1,
            acq_func="gp_hedge",
            random_state=setting.seed,
        )

    def _dimension(self, p: Parameter) -> Any:
        from skopt.space import Categorical, Integer, Real

        if p.kind == "choice":
            return Categorical(p.options)
        kind, number = (Integer, int) if p.kind == "int" else (Real, float)
        return kind(number(p.low), number(p.high), prior="log-uniform" if p.log else "uniform")

    def observe(self, x: list[Value], y: float) -> None:
        self._optimizer.tell(x, y)

    def ask(self) -> list[Value]:
        return list(self._optimizer.ask())


class Ax(WorstAtFailure):
    """Client with its default generation strategy ("fast"); told points are attached trials.

    Its own start is 5 trials, the centre and Sobol points, among which attached trials count.
    Without noise a value has the standard error 0; with noise Ax infers it. Candidates: in the box;
    a snapped trial is marked failed. Known sums are parameter constraints; it has no equalities, so
    the last input of one follows from the others.
    """

    def __init__(self, setting: Setting) -> None:
        from ax.api.client import Client
        from ax.api.configs import ChoiceParameterConfig, RangeParameterConfig

        def config(p: Parameter) -> Any:
            if p.kind == "choice":
                kind = type(p.options[0]).__name__
                return ChoiceParameterConfig(p.name, list(p.options), kind, is_ordered=False)
            scaling = "log" if p.log else "linear"
            return RangeParameterConfig(p.name, (p.low, p.high), p.kind, scaling=scaling)

        self._setting, self._client = setting, Client(random_seed=setting.seed)
        self._trial: Any = None
        self._asked: list[Value] | None = None
        self._inputs = EliminatedSums(setting)
        sums = {"parameter_constraints": texts} if (texts := self._inputs.texts()) else {}
        self._client.configure_experiment([config(p) for p in self._inputs.free], **sums)
        self._client.configure_optimization("-y")

    def observe(self, x: list[Value], y: float) -> None:
        trial, asked = self._trial, self._asked
        self._trial, self._asked = None, None
        if asked not in (None, x):
            self._client.mark_trial_failed(trial)
        index = trial if asked == x else self._client.attach_trial(self._inputs.named(x))
        self._client.complete_trial(index, {"y": y if self._setting.noisy else (y, 0.0)})

    def ask(self) -> list[Value]:
        [(self._trial, params)] = self._client.get_next_trials(max_trials=1).items()
        self._asked = self._inputs.whole(params)
        return self._asked


class EliminatedSums:
    """Known sums for a peer that takes inequalities only: the last input of an equality follows
    from the others.
    """

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._parameters = {p.name: p for p in setting.parameters}
        self._follows = {row.names[-1]: row for row in setting.linear if row.is_equality}

    @property
    def free(self) -> list[Parameter]:
        return [p for p in self._setting.parameters if p.name not in self._follows]

    def named(self, x: list[Value]) -> dict[str, Value]:
        named = self._setting.named(x)
        return {p.name: named[p.name] for p in self.free}

    def whole(self, params: dict[str, Value]) -> list[Value]:
        """The full point: free inputs and those that follow."""
        named = dict(params)
        for name, row in self._follows.items():
            terms = dict(row.coefficients)
            rest = sum(c * float(named[other]) for other, c in terms.items() if other != name)
            named[name] = (row.high - rest) / terms[name]
        return self._setting.native([named[p.name] for p in self._setting.parameters])

    def texts(self) -> list[str]:
        """The inequalities that can be violated, as 1.0 * a + 2.0 * b <= 3.0."""
        lines = []
        for row in self._setting.linear:
            terms, low, high = self._reduced(row)
            text = " + ".join(f"{c!r} * {name}" for name, c in terms.items())
            ends = [
                (c * self._parameters[name].low, c * self._parameters[name].high)
                for name, c in terms.items()
            ]
            lines += [f"{text} <= {high!r}"] if high < sum(map(max, ends)) else []
            lines += [f"{text} >= {low!r}"] if low > sum(map(min, ends)) else []
        return lines

    def _reduced(self, row: Sum) -> tuple[dict[str, float], float, float]:
        """The sum over the free inputs alone."""
        terms, low, high = dict(row.coefficients), row.low, row.high
        if row.is_equality:  # what remains for the last input must be in its range
            last = self._parameters[row.names[-1]]
            c = terms.pop(last.name)
            low, high = sorted([row.high - c * last.high, row.high - c * last.low])
            return terms, low, high
        for name, equality in self._follows.items():
            if name in terms:
                inner = dict(equality.coefficients)
                share = terms.pop(name) / inner.pop(name)
                low, high = low - share * equality.high, high - share * equality.high
                for other, factor in inner.items():
                    terms[other] = terms.get(other, 0.0) - share * factor
        return {name: c for name, c in terms.items() if c != 0}, low, high


class Hebo(WorstAtFailure):
    """HEBO. Its own start is 1 + d quasi-random points, among which told points count. Its model
    infers the noise. Candidates: it proposes in the box. The global generators that it draws from
    are seeded here.
    """

    def __init__(self, setting: Setting) -> None:
        import numpy as np
        import torch
        from hebo.design_space.design_space import DesignSpace
        from hebo.optimizers.hebo import HEBO

        def entry(p: Parameter) -> dict[str, object]:
            if p.kind == "choice":
                return {"name": p.name, "type": "cat", "categories": list(p.options)}
            kind = {"float": ("num", "pow"), "int": ("int", "pow_int")}[p.kind][p.log]
            return {"name": p.name, "type": kind, "lb": p.low, "ub": p.high}

        self._setting = setting
        np.random.seed(setting.seed)  # noqa: NPY002
        torch.manual_seed(setting.seed)
        space = DesignSpace().parse([entry(p) for p in setting.parameters])
        self._optimizer = HEBO(space, scramble_seed=setting.seed)

    def observe(self, x: list[Value], y: float) -> None:
        import numpy as np
        import pandas as pd

        self._optimizer.observe(pd.DataFrame([self._setting.named(x)]), np.array([[y]]))

    def ask(self) -> list[Value]:
        row = self._optimizer.suggest(n_suggestions=1).iloc[0]
        return [row[parameter.name] for parameter in self._setting.parameters]


class Smac(WorstAtFailure):
    """BlackBoxFacade through ask and tell; ``deterministic`` without noise. With noise it asks its
    best points up to three times, its default. With a common start its own Sobol design is empty.
    Candidates: it proposes in the box.
    """

    def __init__(self, setting: Setting) -> None:
        from ConfigSpace import ConfigurationSpace, Float, Integer
        from smac import BlackBoxFacade, Scenario

        numbers = {"float": Float, "int": Integer}
        self._setting, self._asked, self._folder = setting, None, tempfile.TemporaryDirectory()
        entries = {
            p.name: list(p.options) or numbers[p.kind](p.name, (p.low, p.high), log=p.log)
            for p in setting.parameters
        }
        self._space = ConfigurationSpace(seed=setting.seed, space=entries)
        scenario = Scenario(
            self._space,
            output_directory=Path(self._folder.name),
            deterministic=not setting.noisy,
            n_trials=setting.trials,
            seed=setting.seed,
        )
        start: dict[str, Any] = {}
        if not setting.own_start:
            empty = BlackBoxFacade.get_initial_design(scenario, n_configs=0)
            start = {"initial_design": empty}
        self._smac = BlackBoxFacade(
            scenario, lambda config, seed=0: 0.0, logging_level=False, **start
        )

    def observe(self, x: list[Value], y: float) -> None:
        from ConfigSpace import Configuration
        from smac.runhistory.dataclasses import TrialInfo, TrialValue

        config = Configuration(self._space, self._setting.named(x))
        trial = TrialInfo(config, seed=self._setting.seed * self._setting.noisy)
        matches = self._asked is not None and self._asked.config == config
        self._smac.tell(self._asked if matches else trial, TrialValue(y))

    def ask(self) -> list[Value]:
        self._asked = self._smac.ask()
        return [self._asked.config[parameter.name] for parameter in self._setting.parameters]
