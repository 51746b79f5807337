"""Points under way in a band of one radius."""

from __future__ import annotations

import math
from dataclasses import replace

from noregret.rkhs import RadiusBand
from noregret.space import Array


def with_pending(band: RadiusBand, pending: Array) -> RadiusBand:
    """Smaller variances where points are under way, each width times e^I(pending) in return; for
    what is asked next only.
    """
    if len(pending) == 0:
        return band
    posteriors, widths = [], []
    for posterior, width in zip(band.posteriors, band.widths, strict=True):
        full, noise_var = posterior, float(posterior.noise_var.min())  # c·R²
        for x in pending:
            full = full.append(x, None, noise_var)
        posteriors.append(full)
        widths.append(width * math.exp(full.pending_information))  # theory.md#pending
    return replace(band, posteriors=tuple(posteriors), widths=tuple(widths))
