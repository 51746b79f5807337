"""A strategy tried out on made-up data, so that impossible options are found when a study is made
and not after a week of measuring.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np

from noregret.errors import ConfigurationError, NoRegretError
from noregret.space import Candidates, Space
from noregret.strategies import Strategy, random_points
from noregret.trials import History


def rehearse(strategy: Strategy, space: Space | Candidates) -> None:
    """One decision after three values, past the initial design."""
    rng, none = np.random.default_rng(0), np.empty((0, space.dimension))
    history = History(
        random_points(space, rng, 3), np.array([0.0, 0.1, 0.3]), np.full(3, np.nan), none, none
    )
    value: Any = strategy
    try:
        if "initial_points" in {field.name for field in fields(value)}:
            value = replace(value, initial_points=1)
        value.propose(space, history, rng)
    except NoRegretError:
        raise
    except Exception as error:
        raise ConfigurationError(
            f"the strategy cannot work with these options ({type(error).__name__}: {error}):"
            f" {strategy!r}"
        ) from None
