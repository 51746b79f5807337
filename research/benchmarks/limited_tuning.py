"""Problems on which the handling of limits and context was tuned; none of them is in the report.

G4, G6, G8, G9 and G24 of Liang et al., *Problem definitions for the CEC 2006 special session on
constrained real-parameter optimization*; Townsend's, Simionescu's, Gomez and Levy's and Mishra's
bird as in their collections; the tubular column, the stepped cantilever and the corrugated bulkhead
as in Gandomi et al., *Cuckoo search algorithm*, Engineering with Computers 2013; two of Sasena,
*Flexibility and efficiency enhancements for constrained global design optimization*, 2002. Seeds of
the tuning side begin at 100.
"""

from __future__ import annotations

import math

from research.benchmarks.limited import Contextual, Limited, X

TAU = 2 * math.pi
SEEDS = tuple(range(100, 106))


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


def _bulkhead_g(x: X) -> list[float]:
    width, depth, length, t = x
    around = 8.94 * (width + math.sqrt(max(length**2 - depth**2, 0.0)))
    return [
        around - t * depth * (0.4 * width + length / 6),
        2.2 * around ** (4 / 3) - t * depth**2 * (0.2 * width + length / 12),
        0.0156 * width + 0.15 - t,
        0.0156 * length + 0.15 - t,
        1.05 - t,
        depth - length,
    ]


def _bulkhead(x: X) -> float:
    width, depth, length, t = x
    return 5.885 * t * (width + length) / (width + math.sqrt(max(length**2 - depth**2, 0.0)))


def _g9(x: X) -> float:
    a, b, c, d, e, f, g = x
    far = (a - 10) ** 2 + 5 * (b - 12) ** 2 + c**4 + 3 * (d - 11) ** 2 + 10 * e**6
    return far + 7 * f**2 + g**4 - 4 * f * g - 10 * f - 8 * g


def _g9_g(x: X) -> list[float]:
    a, b, c, d, e, f, g = x
    return [
        2 * a**2 + 3 * b**4 + c + 4 * d**2 + 5 * e - 127,
        7 * a + 3 * b + 10 * c**2 + d - e - 282,
        23 * a + b**2 + 6 * f**2 - 8 * g - 196,
        4 * a**2 + b**2 - 3 * a * b + 2 * c**2 + 5 * f - 11 * g,
    ]


def _sasena_g(x: X) -> list[float]:
    a, b = x
    return [
        ((a - 3) ** 2 + (b + 2) ** 2) * math.exp(-(b**7)) - 12,
        10 * a + b - 7,
        (a - 0.5) ** 2 + (b - 0.5) ** 2 - 0.2,
    ]


def _branin(x: X) -> float:
    a = x[1] - 5.1 / (4 * math.pi**2) * x[0] ** 2 + 5 / math.pi * x[0] - 6
    return a**2 + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x[0]) + 10


def camel(x: X) -> float:
    a, b = x
    return (4 - 2.1 * a**2 + a**4 / 3) * a**2 + a * b + (-4 + 4 * b**2) * b**2


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
        Limited(
            "sasena",
            ((0, 1), (0, 1)),
            lambda x: -((x[0] - 1) ** 2) - (x[1] - 0.5) ** 2,
            _sasena_g,
            -0.7483083,
            30,
        ),
        Limited(
            "new branin",
            ((-5, 10), (0, 15)),
            lambda x: -((x[0] - 10) ** 2) - (x[1] - 15) ** 2,
            lambda x: [_branin(x) - 5],
            -268.7885047,
            30,
        ),
        Limited(
            "gomez",
            ((-1, 1), (-1, 1)),
            camel,
            lambda x: [2 * math.sin(TAU * x[1]) ** 2 - math.sin(2 * TAU * x[0])],
            -0.9711041,
            30,
        ),
        Limited(
            "simionescu",
            ((-1.25, 1.25), (-1.25, 1.25)),
            lambda x: 0.1 * x[0] * x[1],
            lambda x: [
                x[0] ** 2 + x[1] ** 2 - (1 + 0.2 * math.cos(8 * math.atan2(x[0], x[1]))) ** 2
            ],
            -0.072,
            30,
        ),
        Limited(
            "bulkhead",
            ((20, 100), (10, 60), (20, 100), (0.5, 3)),
            _bulkhead,
            _bulkhead_g,
            6.842958,
            40,
        ),
        Limited("g9", ((-10, 10),) * 7, _g9, _g9_g, 680.6300574, 40),
    )
}


def _dose(x: X) -> float:
    """An effect that saturates and harm that grows, for a patient's weight."""
    dose, weight = x
    level = dose / weight
    return 3 * level**2 - 2 / (1 + math.exp(-9 * (level - 0.6))) + 0.1 * math.sin(7 * dose)


def _ridge(x: X) -> float:
    a, b, z = x
    ring = math.exp(-((a - 0.5 - 0.3 * math.cos(5 * z)) ** 2) / 0.03)
    return -ring * math.exp(-((b - z) ** 2) / 0.05) - 0.4 * math.exp(-((a - 0.8) ** 2) / 0.1)


def _pump(x: X) -> float:
    """Power grows with the cube of the speed; what the demand lacks is bought."""
    speed, demand = x
    lacking = demand - 1.2 * speed
    return 0.8 * speed**3 + 0.3 * speed + 1.5 * math.log1p(math.exp(12 * lacking)) / 12


def _tracking(x: X) -> float:
    """The days differ more than the actions do."""
    a, z = x
    return 6 * (a - 0.5 - 0.35 * math.sin(4 * z)) ** 2 + 5 * z**2 + math.cos(6 * z)


def _oven(x: X) -> float:
    """Heat and hours for a batch's moisture: too little leaves it wet, too much burns it."""
    heat, hours, moisture = x
    dried = heat * (0.3 + hours) - moisture
    return 3 * dried**2 + math.exp(4 * (heat - 0.8)) * 0.3 + 0.2 * hours


CONTEXTUAL = {
    each.name: each
    for each in (
        Contextual("camel, given y", ((-2, 2), (-1, 1)), camel),
        Contextual("dose", ((0, 2), (0.5, 1.5)), _dose),
        Contextual("ridge", ((0, 1), (0, 1), (0, 1)), _ridge),
        Contextual("bird, given y", ((-10, 0), (-6.5, 0)), _bird),
        Contextual("pump", ((0, 1), (0.1, 1)), _pump),
        Contextual("tracking", ((0, 1), (0, 1)), _tracking),
        Contextual("oven", ((0, 1), (0, 1), (0, 1)), _oven),
        Contextual("wave", ((0, 1), (0, 1)), lambda x: math.sin(9 * x[0] + 5 * x[1]) * x[0]),
    )
}
