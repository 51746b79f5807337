"""Strategies without widening and without theorem that share one model: values standardised,
hyperparameters from data.
"""

from __future__ import annotations

import numpy as np

from noregret.gp import Fit, Predictor
from noregret.search import Acquisition, argmax
from noregret.space import Array, SearchSpace
from noregret.strategies.units import Frame
from noregret.trials import History, Info, Proposal


def propose_fitted(
    space: SearchSpace,
    history: History,
    framed: Frame,
    fit: Fit,
    predictor: Predictor,
    acquisition: Acquisition,
    beta_sqrt: float | None,
    rng: np.random.Generator,
) -> Proposal:
    """The acquisition's argmax with the ``info`` that every model-based proposal carries; h = g = b
    = 1.
    """
    incumbents = framed.X[np.argsort(-framed.y, kind="stable")[:3]]
    x = argmax(acquisition, space, fit.lengthscales, rng, incumbents, history.failed)
    mean, std = predictor.predict(x[None, :])
    return Proposal(x, fitted_info(history, framed, fit, beta_sqrt, float(mean[0]), float(std[0])))


def fitted_info(
    history: History, framed: Frame, fit: Fit, beta_sqrt: float | None, mean: float, std: float
) -> Info:
    _, noise_var = framed.known_noise(fit.noise_var)
    lengthscales: Array = fit.lengthscales
    return {
        "source": "model",
        "t": len(history.scaled_decisions) + 1,
        "h": 1.0,
        "g": 1.0,
        "b": 1.0,
        "lengthscales": lengthscales.tolist(),
        "norm_bound": None,
        "delta": None,
        "beta_sqrt": beta_sqrt,
        "information_gain": None,
        "noise_var": noise_var,
        "noise_std": framed.noise_in_values(noise_var),
        "fitted_lengthscales": lengthscales.tolist(),
        "searched": fit.searched,
        "improved": fit.improved,
        "active": "fit",
        "mean": framed.offset + framed.scale * mean,
        "std": framed.scale * std,
        "offset": framed.offset,
        "scale": framed.scale,
    }
