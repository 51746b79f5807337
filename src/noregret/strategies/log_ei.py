"""Log expected improvement (Ament et al. 2023) on a fitted model: what most libraries do.

The default's start and model (``insured``), no insurance and no other acquisition: what the two
differ by is what the insurance costs and gains.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from noregret.strategies.base import Delegating
from noregret.strategies.insured import InsuredGPUCB
from noregret.strategies.surrogate import SurrogateModel
from noregret.trials import Limit


@dataclass(frozen=True, slots=True)
class LogEI(Delegating):
    """Improvement over the best posterior mean at an evaluated point, which noise does not inflate.

    Args:
        noise_std: Standard deviation of a value's noise, in the values' units; None estimates it,
            0: values are exact.
        initial_points: How many spread points come first; None: two per input, from 3 to 12.
        surrogate: How f is modelled, as in ``InsuredGPUCB``.

    Raises:
        ConfigurationError: A setting is out of its range.
    """

    noise_std: float | None = None
    initial_points: int | None = None
    surrogate: SurrogateModel | None = None

    def __post_init__(self) -> None:
        self.inner(1)

    def inner(self, inputs: int) -> InsuredGPUCB:
        return InsuredGPUCB(0.0, self.noise_std, self.initial_points, self.surrogate, "log_ei")

    @property
    def theorem(self) -> str:
        return (
            "none: with estimated lengthscales expected improvement may stick in a local optimum"
            " for ever (Bull 2011)"
        )

    def check_outcomes(self, limits: Mapping[str, Limit]) -> None:
        """Any limits are allowed: everything about them is estimated."""
