"""Problems on which the handling of limits and context was tuned; none of them is in the report.

G4, G6, G8 and G24 of Liang et al., *Problem definitions for the CEC 2006 special session on
constrained real-parameter optimization*; Townsend's and Mishra's bird as in their collections; the
tubular column and the stepped cantilever as in Gandomi et al., *Cuckoo search algorithm*,
Engineering with Computers 2013. Seeds of the tuning side begin at 100.
"""

from __future__ import annotations

import math

from research.benchmarks.limited import Contextual, Limited, X

SEEDS = (100, 101)


def _g4(x: X) -> list[float]:
    a, b, c, d, e = x
    u = 85.334407 + 0.0056858 * b * e + 0.0006262 * a * d - 0.0022053 * c * e
    v = 80.51249 + 0.0071317 * b * e + 0.0029955 * a * b + 0.0021813 * c**2
    w = 9.300961 + 0.0047026 * c * e + 0.0012547 * a * c + 0.0019085 * c * d
    return [u - 92, -u, v - 110, 90 - v, w - 25, 20 - w]


def _townsend(x: X) -> list[float]:
    t = math.atan2(x[0], x[1])
    out = 2 * math.cos(t) - math.cos(2 * t) / 2 - math.cos(3 * t) / 4 - math.cos(4 * t) / 8
    return [x[0] ** 2 + x[1] ** 2 - out**2 - (2 * math.sin(t)) ** 2]


def _bird(x: X) -> float:
    a, b = x
    waves = math.sin(b) * math.exp((1 - math.cos(a)) ** 2)
    return waves + math.cos(a) * math.exp((1 - math.sin(b)) ** 2) + (a - b) ** 2


def _g8(x: X) -> float:
    a, b = x
    return -(math.sin(2 * math.pi * a) ** 3) * math.sin(2 * math.pi * b) / (a**3 * (a + b))


def _column(x: X) -> list[float]:
    d, t = x
    buckling = 8 * 2500 * 250**2 / (math.pi**3 * 0.85e6 * d * t * (d**2 + t**2))
    return [2500 / (math.pi * d * t * 500) - 1, buckling - 1]


LIMITED = {
    each.name: each
    for each in (
        Limited(
            "g4",
            ((78, 102), (33, 45), (27, 45), (27, 45), (27, 45)),
            lambda x: (
                5.3578547 * x[2] ** 2 + 0.8356891 * x[0] * x[4] + 37.293239 * x[0] - 40792.141
            ),
            _g4,
            -30665.539,
            40,
        ),
        Limited(
            "g6",
            ((13, 100), (0, 100)),
            lambda x: (x[0] - 10) ** 3 + (x[1] - 20) ** 3,
            lambda x: [
                100 - (x[0] - 5) ** 2 - (x[1] - 5) ** 2,
                (x[0] - 6) ** 2 + (x[1] - 5) ** 2 - 82.81,
            ],
            -6961.81388,
            30,
        ),
        Limited(
            "g8",
            ((0.01, 10), (0, 10)),
            _g8,
            lambda x: [x[0] ** 2 - x[1] + 1, 1 - x[0] + (x[1] - 4) ** 2],
            -0.0958250,
            30,
        ),
        Limited(
            "g24",
            ((0, 3), (0, 4)),
            lambda x: -x[0] - x[1],
            lambda x: [
                -2 * x[0] ** 4 + 8 * x[0] ** 3 - 8 * x[0] ** 2 + x[1] - 2,
                -4 * x[0] ** 4 + 32 * x[0] ** 3 - 88 * x[0] ** 2 + 96 * x[0] + x[1] - 36,
            ],
            -5.508013,
            30,
        ),
        Limited(
            "townsend",
            ((-2.25, 2.25), (-2.5, 1.75)),
            lambda x: -(math.cos((x[0] - 0.1) * x[1]) ** 2) - x[0] * math.sin(3 * x[0] + x[1]),
            _townsend,
            -2.0239884,
            30,
        ),
        Limited(
            "bird",
            ((-10, 0), (-6.5, 0)),
            _bird,
            lambda x: [(x[0] + 5) ** 2 + (x[1] + 5) ** 2 - 25],
            -106.7645367,
            30,
        ),
        Limited(
            "column",
            ((2, 14), (0.2, 0.8)),
            lambda x: 9.8 * x[0] * x[1] + 2 * x[0],
            _column,
            26.4995,
            30,
        ),
        Limited(
            "cantilever",
            ((1, 10),) * 5,
            lambda x: 0.0624 * sum(x),
            lambda x: [sum(c / a**3 for c, a in zip((61, 37, 19, 7, 1), x, strict=True)) - 1],
            1.33995,
            40,
        ),
    )
}


def _camel(x: X) -> float:
    a, b = x
    return (4 - 2.1 * a**2 + a**4 / 3) * a**2 + a * b + (-4 + 4 * b**2) * b**2


def _dose(x: X) -> float:
    """An effect that saturates and harm that grows, for a patient's weight."""
    dose, weight = x
    level = dose / weight
    return 3 * level**2 - 2 / (1 + math.exp(-9 * (level - 0.6))) + 0.1 * math.sin(7 * dose)


def _ridge(x: X) -> float:
    a, b, z = x
    ring = math.exp(-((a - 0.5 - 0.3 * math.cos(5 * z)) ** 2) / 0.03)
    return -ring * math.exp(-((b - z) ** 2) / 0.05) - 0.4 * math.exp(-((a - 0.8) ** 2) / 0.1)


CONTEXTUAL = {
    each.name: each
    for each in (
        Contextual("camel, given y", ((-2, 2), (-1, 1)), _camel),
        Contextual("dose", ((0, 2), (0.5, 1.5)), _dose),
        Contextual("ridge", ((0, 1), (0, 1), (0, 1)), _ridge),
        Contextual("bird, given y", ((-10, 0), (-6.5, 0)), _bird),
    )
}
