"""A new widening rule, written from docs/extending.md alone: just enough to be unsure again."""

from dataclasses import dataclass

from noregret.rkhs import Probe, Scaling
from noregret.strategies import register


@register
@dataclass(frozen=True)
class UntilUnsure:
    level: float = 0.2
    factor: float = 1.25
    steps: int = 12

    def scaling(self, probe: Probe) -> Scaling:
        g = probe.previous.g
        for _ in range(self.steps):
            if probe.std_at_argmax(g, 1.0) >= self.level:
                break
            g *= self.factor
        return Scaling(g**probe.dimension, g, 1.0, self.level)
