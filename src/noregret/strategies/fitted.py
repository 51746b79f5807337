"""Strategies without widening and without theorem that share one model: values standardised,
hyperparameters from data.
"""

from __future__ import annotations

import numpy as np

from noregret.gp import Fit, Predictor
from noregret.search import Acquisition, argmax
from noregret.space import SearchSpace
from noregret.strategies.data import ModelData
from noregret.trials import Decision, History, ModelDecision, Proposal


def propose_fitted(
    space: SearchSpace,
    history: History,
    framed: ModelData,
    fit: Fit,
    predictor: Predictor,
    acquisition: Acquisition,
    beta_sqrt: float | None,
    rng: np.random.Generator,
) -> Proposal:
    """The acquisition's argmax with what every model-based proposal records; h = g = b = 1.

    beta_sqrt None: the acquisition is expected improvement.
    """
    incumbents = framed.X[np.argsort(-framed.y, kind="stable")[:3]]
    x = argmax(acquisition, space, fit.lengthscales, rng, incumbents, history.failed)
    mean, std = predictor.predict(x[None, :])
    _, noise_var = framed.known_noise(fit.noise_var)
    lengthscales = tuple(fit.lengthscales.tolist())
    value, spread = framed.in_values(float(mean[0]), float(std[0]))
    reasons = ModelDecision(
        t=len(history.model_decisions) + 1,
        lengthscales=lengthscales,
        beta_sqrt=beta_sqrt,
        noise_var=noise_var,
        noise_std=framed.noise_in_values(noise_var),
        fitted_lengthscales=lengthscales,
        searched=fit.searched,
        improved=fit.improved,
        mean=value,
        std=spread,
        offset=framed.offset,
        scale=framed.scale,
        acquisition="log_ei" if beta_sqrt is None else "ucb",
    )
    return Proposal(x, Decision("model", reasons))
