"""One client of the storage benchmark, in the environment of the library it measures. Usage: python
research/benchmarks/storage_client.py LIBRARY TASK URL NUMBER

create: a study; fill: NUMBER complete trials; load: seconds to open the study and read them all;
work: "ready" on standard output, then at a line on standard input ask and tell for NUMBER seconds.
Prints one JSON object. Nothing but the standard library and the library itself.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from typing import Any

NAME = "benchmark"


class Ours:
    """noregret with RandomSearch."""

    def __init__(self, url: str) -> None:
        self.nr = importlib.import_module("noregret")
        self.url = url

    def create(self) -> None:
        nr = self.nr
        space = {
            "a": nr.Float(0, 1),
            "b": nr.Float(1e-5, 1, log=True),
            "n": nr.Int(1, 100),
            "c": nr.Choice(["x", "y", "z"]),
        }
        nr.Study.create(NAME, space, "minimize", nr.RandomSearch(), storage=self.url)

    def open(self) -> Any:
        return self.nr.Study.open(NAME, storage=self.url)

    def step(self, study: Any) -> None:
        trial = study.ask()
        study.tell(trial, trial.params["a"])

    def fill(self, study: Any, count: int) -> None:
        trial_of = self.nr.Trial
        if "decision" in trial_of.__dataclass_fields__:
            decision_of = importlib.import_module("noregret.trials").Decision
            why: dict[str, Any] = {"decision": decision_of("random")}
        else:  # an older noregret, installed beside this one
            why = {"info": {"source": "random"}}
        params = {"a": 0.5, "b": 0.01, "n": 7, "c": "y"}
        study._storage.insert(
            NAME,
            [trial_of(number, params, "complete", 1.0, **why) for number in range(count)],
        )

    def trials(self, study: Any) -> list[Any]:
        return list(study.trials)


class Optuna:
    """Optuna's RDBStorage with its RandomSampler."""

    def __init__(self, url: str) -> None:
        self.optuna = importlib.import_module("optuna")
        self.optuna.logging.set_verbosity(self.optuna.logging.ERROR)
        self.url = url
        of = self.optuna.distributions
        self.distributions = {
            "a": of.FloatDistribution(0, 1),
            "b": of.FloatDistribution(1e-5, 1, log=True),
            "n": of.IntDistribution(1, 100),
            "c": of.CategoricalDistribution(["x", "y", "z"]),
        }

    def create(self) -> None:
        self.optuna.create_study(storage=self.url, study_name=NAME)

    def open(self) -> Any:
        return self.optuna.load_study(
            study_name=NAME, storage=self.url, sampler=self.optuna.samplers.RandomSampler()
        )

    def step(self, study: Any) -> None:
        trial = study.ask(self.distributions)
        study.tell(trial, trial.params["a"])

    def fill(self, study: Any, count: int) -> None:
        params = {"a": 0.5, "b": 0.01, "n": 7, "c": "y"}
        made = self.optuna.trial.create_trial(
            params=params, distributions=self.distributions, value=1.0
        )
        study.add_trials([made] * count)

    def trials(self, study: Any) -> list[Any]:
        return list(study.trials)


LIBRARIES = {"noregret": Ours, "optuna": Optuna}


def work(library: Any, seconds: float) -> dict[str, Any]:
    study = library.open()
    library.step(study)  # connections and caches are there before the clock starts
    print("ready", flush=True)
    sys.stdin.readline()
    done, errors, last = 0, 0, ""
    started = time.perf_counter()
    while time.perf_counter() - started < seconds:
        try:
            library.step(study)
            done += 1
        except Exception as error:  # reported, whatever a library raises when its database is busy
            errors, last = errors + 1, f"{type(error).__name__}: {str(error)[:120]}"
    return {
        "done": done,
        "seconds": time.perf_counter() - started,
        "errors": errors,
        "last_error": last,
    }


def main(name: str, task: str, url: str, number: str) -> None:
    library: Any = LIBRARIES[name](url)
    result: dict[str, Any] = {}
    if task == "create":
        library.create()
    elif task == "fill":
        library.fill(library.open(), int(number))
    elif task == "load":
        started = time.perf_counter()
        result = {
            "trials": len(library.trials(library.open())),
            "seconds": time.perf_counter() - started,
        }
    else:
        result = work(library, float(number))
    print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
