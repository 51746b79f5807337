"""Fixed studies of every strategy: boxes, mixed spaces, lists, points under way, failures, told
noise.

``OPENBLAS_NUM_THREADS=1 python -m tests.golden.cases`` writes the proposals of today's code into
proposals.json. Do that only when a change of behaviour is meant, and say so in the changelog.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import noregret as nr
from noregret.strategies import Strategy

FILE = Path(__file__).with_name("proposals.json")
HELD_OUT = np.linspace(0.0, 1.0, 5)  # where the belief is recorded, on the diagonal of the cube

SPACES: dict[str, Callable[[], Any]] = {
    "line": lambda: [(0.0, 1.0)],
    "box": lambda: {"a": nr.Float(-5, 5), "b": nr.Float(1e-4, 1, log=True), "c": nr.Float(0, 2)},
    "mixed": lambda: {
        "rate": nr.Float(1e-5, 1, log=True),
        "layers": nr.Int(1, 40),
        "kind": nr.Choice(["sgd", "adam", "rms"]),
        "depth": nr.Float(0, 1),
    },
    "finite": lambda: {"n": nr.Int(1, 12), "kind": nr.Choice(["x", "y", "z"])},
    "list": lambda: nr.Candidates(
        [
            {"t": t, "solvent": s, "c": c}
            for t in (20, 40, 60, 90)
            for s in ("water", "dmf")
            for c in (0.1, 0.2, 0.5, 1.0)
        ]
    ),
    "constrained": lambda: nr.Space(
        {"a": nr.Float(0, 1), "b": nr.Float(0, 1), "c": nr.Float(0, 1)},
        constraints=[nr.Linear({"a": 1, "b": 1, "c": 1}, equals=1.0)],
    ),
    "branches": lambda: {
        "model": nr.Branch({"svm": {"C": nr.Float(0.1, 10)}, "none": {}}),
        "scale": nr.Float(0, 1),
    },
}
PLAIN = ("line", "box", "mixed", "finite", "list")

STRATEGIES: dict[str, tuple[Callable[[], Strategy | None], int, tuple[str, ...]]] = {
    "default": (lambda: None, 36, (*PLAIN, "constrained", "branches")),
    "paper": (lambda: nr.AdaptiveGPUCB.paper(0.05), 16, ("line", "mixed")),
    "paper bound": (
        lambda: nr.AdaptiveGPUCB.paper(0.4, "regret_bound", anchored=True),
        16,
        ("line", "list"),
    ),
    "rigorous": (lambda: nr.AdaptiveGPUCB.rigorous(0.1), 16, PLAIN),
    "gp-ucb": (nr.GPUCB, 16, PLAIN),
    "gp-ucb mixture": (
        lambda: nr.GPUCB(lengthscales=0.3, noise_std=0.1, width="mixture"),
        16,
        ("line", "box", "mixed"),
    ),
    "lb-gp-ucb": (lambda: nr.LBGPUCB(noise_std=0.1), 16, ("line", "mixed")),
    "marginal": (nr.MarginalGPUCB, 9, ("line",)),
    "minimum-uncertainty": (nr.MinimumUncertainty, 14, ("line", "box")),
    "log-ei": (nr.LogEI, 20, PLAIN),
    "random": (nr.RandomSearch, 8, ("line", "mixed", "list")),
}


@dataclass(frozen=True, slots=True)
class Case:
    strategy: str
    space: str
    # plain; busy: pending points, failures, told noise; limits: outcome constraints; context
    events: str

    @property
    def name(self) -> str:
        return f"{self.strategy} / {self.space} / {self.events}"

    def study(self) -> nr.Study:
        goal: Any = "minimize" if self.events == "busy" else "maximize"
        outcomes = {"cost": nr.AtMost(0.5)} if self.events == "limits" else None
        context = ("c",) if self.events == "context" else ()
        strategy = STRATEGIES[self.strategy][0]()
        return nr.Study(
            SPACES[self.space](), goal, strategy, seed=3, outcomes=outcomes, context=context
        )

    @property
    def trials(self) -> int:
        return STRATEGIES[self.strategy][1]


def cases() -> list[Case]:
    return [
        Case(strategy, space, events)
        for strategy, (_, _, spaces) in STRATEGIES.items()
        for space in spaces
        for events in ("plain", "busy")
    ] + [
        Case("default", "box", "limits"),
        Case("default", "mixed", "limits"),
        Case("default", "box", "context"),
        Case("log-ei", "box", "limits"),
    ]


def value_of(params: Any, number: int) -> float:
    """A rugged function of whatever there is, with a little noise by number."""
    total = 0.0
    values = params.values() if isinstance(params, dict) else list(params)
    for index, value in enumerate(values):
        if isinstance(value, str):
            total += 0.2 * len(value)
        elif 0 < abs(value) < 0.01:
            total -= 0.1 * (math.log10(abs(value)) + 3) ** 2
        else:
            total += math.sin(3.0 * float(value) + index) - 0.05 * float(value) ** 2 / (1 + index)
    return total + 0.05 * float(np.random.default_rng([7, number]).standard_normal())


def play(case: Case, recorded: list[Any] | None = None) -> Iterator[tuple[int, Any, nr.Study]]:
    """(number, proposed params, study) of each ask. With ``recorded`` the study goes on from the
    recorded point instead of the proposed one, so that a difference does not spread."""
    study = case.study()
    waiting: list[nr.Trial] = []
    while len(study.trials) < case.trials:
        number = len(study.trials)
        trial = study.ask(context={"c": number % 5 / 2} if case.events == "context" else None)
        yield number, plain(trial.params), study
        if recorded is not None and plain(trial.params) != recorded[number]:
            return
        if case.events != "busy":
            value = value_of(trial.params, number)
            cost = {"cost": math.sin(2.0 * value) + 0.3} if case.events == "limits" else None
            study.tell(trial, value, outcomes=cost)
            continue
        waiting.append(trial)
        if number % 7 == 5:
            study.tell(waiting.pop(0), state="failed")
        if len(waiting) > 2 or number < 3:
            oldest = waiting.pop(0)
            noise = 0.02 + 0.01 * (oldest.number % 3) if oldest.number % 4 == 1 else None
            study.tell(oldest, value_of(oldest.params, oldest.number), noise_std=noise)


def plain(params: Any) -> Any:
    return dict(params) if isinstance(params, dict) else [float(v) for v in params]


def outcome(study: nr.Study) -> dict[str, Any]:
    """What the study says at its end."""
    belief = None if study.context else study.belief()
    if belief is None:
        return {"best": plain(study.best.params)}
    A = np.repeat(HELD_OUT[:, None], study.space.dimension, axis=1)
    lower, upper = belief.band(A)
    return {
        "best": plain(study.best.params),
        "recommended": plain(study.recommended.params),
        "lower": lower.tolist(),
        "upper": upper.tolist(),
        "regret_bound": study.certificate().regret_bound,
    }


def record(case: Case) -> dict[str, Any]:
    points, study = [], case.study()
    for _, params, study in play(case):  # noqa: B007
        points.append(params)
    return {"points": points, "outcome": outcome(study)}


if __name__ == "__main__":
    import warnings

    warnings.simplefilter("ignore")
    written = {case.name: record(case) for case in cases()}
    lines = ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in written.items())
    FILE.write_text("{\n" + lines + "\n}\n")
