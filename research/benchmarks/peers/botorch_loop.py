"""The loop of BoTorch's tutorials around one acquisition function: what its two adapters share.

SingleTaskGP with its default priors on the unit cube, outcomes standardised. Without noise the
model gets the variance its documentation names for noise-free observations, 1e-6 (of standardised
values); with noise it infers one. optimize_acqf with the tutorials' 10 restarts and 512 raw
samples, ints rounded after it; optimize_acqf_mixed over the combinations of choices (one-hot),
optimize_acqf_discrete over candidates. Known sums are its equality_constraints and
inequality_constraints. Its own start: 2(d + 1) scrambled Sobol points, as in its tutorials.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from botorch.acquisition import AcquisitionFunction
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.models.transforms import Standardize
from botorch.optim import optimize_acqf, optimize_acqf_discrete, optimize_acqf_mixed
from gpytorch.mlls import ExactMarginalLogLikelihood

from research.benchmarks.peers.setting import Setting, Value

Acquire = Callable[[SingleTaskGP, torch.Tensor, torch.Tensor], AcquisitionFunction]


class Loop:
    """Refits at every ask. ``acquire`` builds the acquisition from the model, the points and the
    values to maximise.
    """

    def __init__(self, setting: Setting, acquire: Acquire) -> None:
        torch.manual_seed(setting.seed)
        self._setting = setting
        self._acquire = acquire
        self._points: list[list[float]] = []
        self._values: list[float] = []
        sobol = torch.quasirandom.SobolEngine(setting.dimension, scramble=True, seed=setting.seed)
        count = 2 * (len(setting.parameters) + 1) if setting.own_start else 0
        self._start = sobol.draw(count, dtype=torch.float64).tolist()

    def tell(self, x: list[Value], y: float) -> None:
        self._points.append(self._setting.encode(x))
        self._values.append(-y)

    def ask(self) -> list[Value]:
        setting = self._setting
        if len(self._points) < len(self._start):
            return setting.decode(self._start[len(self._points)])
        X = torch.tensor(self._points, dtype=torch.float64)
        Y = torch.tensor(self._values, dtype=torch.float64).unsqueeze(-1)
        Yvar = (
            None
            if setting.noisy
            else torch.full_like(Y, 1e-6) * Y.var(correction=0).clamp_min(1e-12)
        )
        model = SingleTaskGP(X, Y, Yvar, outcome_transform=Standardize(m=1))
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        acquisition = self._acquire(model, X, Y)
        if setting.candidates is not None:
            choices = torch.tensor(
                [setting.encode(row) for row in setting.candidates], dtype=torch.float64
            )
            found, _ = optimize_acqf_discrete(acquisition, q=1, choices=choices)
            at = int((choices - found).square().sum(-1).argmin())
            return list(setting.candidates[at])
        bounds = torch.tensor(
            [[0.0] * setting.dimension, [1.0] * setting.dimension], dtype=torch.float64
        )
        if len(corners := setting.corners()) == 1:
            found, _ = optimize_acqf(
                acquisition, bounds, q=1, num_restarts=10, raw_samples=512, **self._limits()
            )
        else:
            found, _ = optimize_acqf_mixed(
                acquisition,
                bounds,
                q=1,
                num_restarts=10,
                raw_samples=512,
                fixed_features_list=corners,
            )
        return setting.decode(found[0].tolist())

    def _limits(self) -> dict[str, list[tuple[torch.Tensor, torch.Tensor, float]]]:
        """Known sums as optimize_acqf takes them: Σ = rhs, and Σ ≥ rhs."""
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
        made = {"equality_constraints": equal, "inequality_constraints": least}
        return {name: each for name, each in made.items() if each}
