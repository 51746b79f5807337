"""What the adapters cost and what the scikit-learn search gains: python -m
research.benchmarks.adapters; results in research/benchmarks/results/adapters.json.

Cost: each adapter makes the same proposals as a plain Study in lock-step, and the processor time of
the two is compared in one run on one thread. An adapter's time is the whole way through its host
(Optuna's ask, Tune's suggest and on_trial_complete, SciPy's loop, the fit of a search less that of
RandomizedSearchCV), the plain one is Study.ask and tell.

Gain: pipelines on data sets that come with scikit-learn, NoRegretSearchCV against
RandomizedSearchCV at the same number of evaluations over five seeds. The problems were fixed before
a result was seen; digits was cut to 600 rows because all of them took too long.
"""

from __future__ import annotations

import argparse
import functools
import json
import platform
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import optuna
from optuna.distributions import BaseDistribution, FloatDistribution, IntDistribution
from ray import tune
from scipy.stats import loguniform
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.datasets import load_diabetes, load_digits
from sklearn.model_selection import RandomizedSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

import noregret as nr
from noregret.integrations.optuna import KEY, NoRegretSampler
from noregret.integrations.ray import NoRegretSearch
from noregret.integrations.scipy import minimize_noisy
from noregret.integrations.sklearn import NoRegretSearchCV
from noregret.trials import Decision

RESULT = Path(__file__).resolve().parent / "results" / "adapters.json"
SEEDS = range(5)
DIMENSIONS = (3, 6)
REPEATS = 3  # of runs whose trials cannot be timed one by one
Seconds = tuple[float, float]  # plain, adapter


def names(d: int) -> list[str]:
    return [f"x{i}" for i in range(d)]


def objective(x: Any) -> float:
    """Smooth and multimodal on the unit cube, the last input a whole number from 0 to 9."""
    weight = 1 / np.arange(1, len(x) + 1)
    u = np.append(np.asarray(x[:-1], dtype=np.float64), x[-1] / 9)
    return -float(weight @ (np.sin(3 * np.pi * u) - 2 * (u - 0.6) ** 2))


def space(d: int) -> dict[str, nr.Float | nr.Int]:
    return {name: nr.Float(0, 1) if name != f"x{d - 1}" else nr.Int(0, 9) for name in names(d)}


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()  # of this process: the machine may have other work
    answer = call()
    return time.process_time() - start, answer


# -- cost: seconds per trial of the plain study and of the adapter, trial by trial --


def through_optuna(d: int, trials: int) -> list[Seconds]:
    distributions: dict[str, BaseDistribution] = {
        name: FloatDistribution(0, 1) for name in names(d)[:-1]
    } | {f"x{d - 1}": IntDistribution(0, 9)}
    sampler = NoRegretSampler(seed=0)
    study = optuna.create_study(sampler=sampler)
    recorded: list[nr.Trial] = []
    seconds = []
    for number in range(trials):
        adapter, trial = timed(lambda: study.ask(distributions))
        decision = Decision()
        if number > 0:
            seed = int(np.random.SeedSequence([sampler._seed, number]).generate_state(1)[0])
            plain_study = nr.Study(space(d), "minimize", seed=seed, trials=recorded)
            plain_study._history(
                plain_study.trials
            )  # a study that has run so far has its points encoded
            plain, asked = timed(plain_study.ask)
            if asked.params != trial.params:
                raise AssertionError(f"Optuna's trial {number} is not the plain study's")
            decision = Decision.from_json(study.trials[number].system_attrs[KEY]["decision"])
            seconds.append((plain, adapter))
        value = objective(list(trial.params.values()))
        study.tell(trial, value)
        recorded.append(nr.Trial(number, trial.params, "complete", value, decision=decision))
    return seconds


def through_ray(d: int, trials: int) -> list[Seconds]:
    domains = {name: tune.uniform(0, 1) for name in names(d)[:-1]} | {
        f"x{d - 1}": tune.randint(0, 10)
    }
    search = NoRegretSearch(domains, "loss", "min", seed=0)
    plain_study = nr.Study(space(d), "minimize", seed=search._seed)
    seconds = []
    for number in range(trials):
        suggested, config = timed(lambda number=number: search.suggest(str(number)))  # type: ignore[misc]
        plain, asked = timed(plain_study.ask)
        if asked.params != config:
            raise AssertionError(f"Tune's trial {number} is not the plain study's")
        value = objective(list(config.values()))
        done = functools.partial(search.on_trial_complete, str(number), {"loss": value})
        completed, _ = timed(done)
        told, _ = timed(lambda asked=asked, value=value: plain_study.tell(asked, value))  # type: ignore[misc]
        seconds.append((plain + told, suggested + completed))
    return seconds


def through_scipy(d: int, trials: int) -> list[Seconds]:
    whole = [False] * (d - 1) + [True]
    bounds = [(0, 9) if one else (0, 1) for one in whole]
    seconds = []
    for _ in range(REPEATS):
        adapter, result = timed(
            lambda: minimize_noisy(objective, bounds, maxfun=trials, integrality=whole, rng=0)
        )
        seconds.append(
            (
                plain_run(d, trials, "minimize", result.study.record().seed, objective) / trials,
                adapter / trials,
            )
        )
    return [least(seconds)]


class Formula(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """An estimator without data: its score is the objective."""

    def __init__(
        self,
        x0: float = 0,
        x1: float = 0,
        x2: float = 0,
        x3: float = 0,
        x4: float = 0,
        x5: float = 0,
    ) -> None:
        self.x0, self.x1, self.x2, self.x3, self.x4, self.x5 = x0, x1, x2, x3, x4, x5

    def fit(self, X: Any, y: Any) -> Formula:
        return self

    def score(self, X: Any, y: Any) -> float:
        return -objective([getattr(self, name) for name in names(len(X[0]))])


def through_sklearn(d: int, trials: int) -> list[Seconds]:
    X, y = np.zeros((4, d)), np.zeros(4)
    search = NoRegretSearchCV(Formula(), space(d), n_iter=trials, cv=2, refit=False, random_state=0)
    random = RandomizedSearchCV(
        Formula(),
        {name: np.linspace(0, 1, 1000) for name in names(d)},
        n_iter=trials,
        cv=2,
        refit=False,
        random_state=0,
    )
    seconds = []
    for _ in range(REPEATS):
        fits, _ = timed(lambda: random.fit(X, y))
        adapter, _ = timed(lambda: search.fit(X, y))
        plain = plain_run(
            d, trials, "maximize", search.study_.record().seed, lambda x: -objective(x)
        )
        seconds.append((plain / trials, (adapter - fits) / trials))
    return [least(seconds)]


def least(seconds: list[Seconds]) -> Seconds:
    """The least of several whole runs, each for itself: what the machine's other work did not
    disturb.
    """
    return min(plain for plain, _ in seconds), min(adapter for _, adapter in seconds)


def plain_run(d: int, trials: int, goal: Any, seed: int, value: Callable[[Any], float]) -> float:
    study = nr.Study(space(d), goal, seed=seed)
    seconds = 0.0
    for _ in range(trials):
        asking, asked = timed(study.ask)
        answer = value(list(asked.params.values()))
        telling, _ = timed(lambda asked=asked, answer=answer: study.tell(asked, answer))  # type: ignore[misc]
        seconds += asking + telling
    return seconds


ADAPTERS: dict[str, Callable[[int, int], list[Seconds]]] = {
    "optuna": through_optuna,
    "sklearn": through_sklearn,
    "ray": through_ray,
    "scipy": through_scipy,
}


def cost(trials: int) -> list[dict[str, Any]]:
    rows = []
    for name, through in ADAPTERS.items():
        for d in DIMENSIONS:
            through(d, 12)  # imports and first calls are not the adapter's
            seconds = np.array(through(d, trials))
            plain, adapter = 1e3 * seconds.mean(axis=0)
            extra = adapter - plain
            rows.append(
                {
                    "adapter": name,
                    "d": d,
                    "trials": trials,
                    "plain_ms": plain,
                    "adapter_ms": adapter,
                    "extra_ms": extra,
                    "ratio": adapter / plain,
                    "within": bool(extra < 2 or extra < 0.2 * plain),
                }
            )
            print(
                f"{name:8} d={d}  plain {plain:6.2f} ms  adapter {adapter:6.2f} ms  extra"
                f" {extra:5.2f} ms  ratio {adapter / plain:.2f} "
                f" {'within' if rows[-1]['within'] else 'OVER'}"
            )
    return rows


# -- gain: the best cross-validated score of five seeds --


def diabetes(search: Callable[..., Any], seed: int) -> float:
    """Support vector regression in a pipeline, R² over five folds, thirty evaluations."""
    distributions = {
        "svr__C": loguniform(1e-2, 1e4),
        "svr__gamma": loguniform(1e-5, 1e1),
        "svr__epsilon": loguniform(1e-2, 1e2),
    }
    pipeline = make_pipeline(StandardScaler(), SVR())
    return float(
        search(pipeline, distributions, n_iter=30, cv=5, refit=False, random_state=seed)
        .fit(*load_diabetes(return_X_y=True))
        .best_score_
    )


def digits(search: Callable[..., Any], seed: int) -> float:
    """Support vector classification in a pipeline on the first 600 digits, accuracy over three
    folds, twenty-five evaluations.
    """
    X, y = load_digits(return_X_y=True)
    distributions = {"svc__C": loguniform(1e-3, 1e3), "svc__gamma": loguniform(1e-6, 1e1)}
    pipeline = make_pipeline(StandardScaler(), SVC())
    return float(
        search(pipeline, distributions, n_iter=25, cv=3, refit=False, random_state=seed)
        .fit(X[:600], y[:600])
        .best_score_
    )


PROBLEMS = (diabetes, digits)


def gain() -> list[dict[str, Any]]:
    rows = []
    for problem in PROBLEMS:
        ours, random = (
            [problem(kind, seed) for seed in SEEDS]
            for kind in (NoRegretSearchCV, RandomizedSearchCV)
        )
        rows.append(
            {
                "problem": problem.__name__,
                "noregret": ours,
                "random": random,
                "noregret_median": median(ours),
                "random_median": median(random),
            }
        )
        print(
            f"{problem.__name__:9} median best score: NoRegretSearchCV {median(ours):.4f},"
            f" RandomizedSearchCV {median(random):.4f}"
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=100, help="trials per adapter for the cost")
    parser.add_argument("--cost-only", action="store_true")
    options = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    result: dict[str, Any] = {
        "machine": platform.processor() or platform.machine(),
        "cost": cost(options.trials),
    }
    if not options.cost_only:
        result["gain"] = gain()
        RESULT.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
