"""What the processes of a soak do: every call at random, each answer noted once it is there."""

from __future__ import annotations

import json
import logging
import random
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO, Any

from sqlalchemy import event

import noregret as nr
from noregret.errors import NoRegretError, StudyExistsError
from noregret.storage import SQLStorage, schema, sql
from noregret.study import study as study_module

SPACE: dict[str, Any] = {"x": nr.Float(0, 1), "c": nr.Choice(["a", "b", "c"])}
STRATEGIES = (nr.InsuredGPUCB(), nr.RandomSearch(), nr.RandomSearch())
FULL = 120  # trials of a study, then another is begun: thinking stays quick
HOUR = 3600.0
CALLS = (
    *("ask",) * 6,
    *("tell",) * 9,
    *("add", "enqueue", "look", "rest", "run", "correct", "annotate", "reclaim", "retry", "fill"),
)


def value_of(params: Any) -> float:
    return float((params["x"] - 0.3) ** 2 + len(params["c"]))


def name_of(index: int) -> str:
    return f"soak-{index:04}"


class Noted:
    """One process's record of what was answered to it, one JSON list per line."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def __call__(self, *what: Any) -> None:
        self._file.write(json.dumps(what) + "\n")


class Worker:
    """All calls of a study, in any order."""

    def __init__(self, url: str, noted: Noted, rng: random.Random) -> None:
        self.storage, self.noted, self.rng = SQLStorage(url), noted, rng
        self.clock = self.storage._clock
        self.index, self.mine, self.narrow = -1, list[nr.Trial](), 0
        self.call = "open"  # the one under way
        if self.storage._database.is_sqlite:
            event.listen(self.storage._database.engine, "checkout", self._limit)
        self.study = self.newest()

    def _limit(self, connection: Any, *_: Any) -> None:
        """Every connection gets as much space as there is at the moment."""
        pages = 1 if self.narrow else 1073741823  # never below what is used
        connection.execute(f"PRAGMA max_page_count = {pages}")

    def newest(self) -> nr.Study:
        """The study that everybody works on; the next one where it has enough trials."""
        while True:
            self.index, self.mine = max(self.index, 0), []
            name = name_of(self.index)
            try:
                study = nr.Study.open(name, storage=self.storage)
            except NoRegretError:
                strategy = STRATEGIES[self.index % len(STRATEGIES)]
                try:
                    study = nr.Study.create(
                        name, SPACE, "minimize", strategy, seed=self.index, storage=self.storage
                    )
                except StudyExistsError:
                    continue
            if len(study.trials) < FULL:
                return study
            self.index += 1

    def once(self) -> None:
        """One call."""
        self._change_time()
        call = self.call = self.rng.choice(CALLS)
        if call == "run":  # it would wait until there is space again
            self.narrow = 0
        self._fill(call == "fill")
        if len(self.study.trials) >= FULL and not self.mine:
            self.study = self.newest()
        do: Callable[[], None] = getattr(self, f"_{call}", self._rest)
        if call != "fill":
            do()

    def _change_time(self) -> None:
        """As if the clock had jumped: for what is written, and for who looks dead."""
        jump = self.rng.choice((-HOUR, 0.0, 0.0, 0.0, HOUR))

        def now() -> str:
            told = datetime.now(UTC) + timedelta(seconds=jump)
            return told.isoformat(timespec="milliseconds")

        for module in (schema, sql, study_module):
            vars(module)["utc_now"] = now
        self.storage._clock = self.clock + jump

    def _fill(self, begin: bool) -> None:
        """As if the disk were full, for this process, for a few calls."""
        self.narrow = self.rng.randrange(2, 12) if begin else max(self.narrow - 1, 0)

    # -- the calls --

    def _ask(self) -> None:
        trial = self.study.ask()
        self.mine.append(trial)
        self.noted("asked", self.study.name, trial.number, trial.params)

    def _tell(self) -> None:
        if not self.mine:
            return
        trial = self.mine.pop(self.rng.randrange(len(self.mine)))
        if self.rng.random() < 0.1:
            self.study.tell(trial, state="failed", transient=self.rng.random() < 0.5)
            self.noted("told", self.study.name, trial.number, None)
        else:
            self.study.tell(trial, value_of(trial.params))
            self.noted("told", self.study.name, trial.number, value_of(trial.params))

    def _add(self) -> None:
        point = {"x": self.rng.random(), "c": self.rng.choice("abc")}
        added = self.study.add(point, value_of(point))
        self.noted("told", self.study.name, added.number, value_of(point))

    def _enqueue(self) -> None:
        if self.rng.random() < 0.3:
            self.study.enqueue({"x": self.rng.random(), "c": "a"})

    def _look(self) -> None:
        nr.studies(self.storage)

    def _rest(self) -> None:
        time.sleep(self.rng.expovariate(50))

    def _run(self) -> None:
        def ended(study: nr.Study, trial: nr.Trial) -> None:
            if trial.state == "complete":
                self.noted("seen", study.name, trial.number, trial.value)

        self.study.run(value_of, trials=2, callbacks=[ended], grace=20.0, progress=False)

    def _finished(self, state: str) -> int | None:
        there = [trial.number for trial in self.study.trials if trial.state == state]
        return self.rng.choice(there) if there else None

    def _correct(self) -> None:
        number = self._finished("complete")
        if number is not None and self.rng.random() < 0.2:
            value = self.rng.random()
            new = self.study.correct(number, value)
            self.noted("told", self.study.name, new.number, value)

    def _annotate(self) -> None:
        number = self._finished("complete")
        if number is not None:
            self.study.annotate(number, note=f"seen at {time.time():.0f}")

    def _reclaim(self) -> None:
        self.study.reclaim(20.0)

    def _retry(self) -> None:
        number = self._finished("failed")
        if number is not None and self.rng.random() < 0.3:
            self.study.retry(number)


def work(url: str, notes: Path, seed: int, until: float, hang: float) -> None:
    """Calls at random until the time is over."""
    logging.getLogger("noregret").setLevel(logging.ERROR)
    rng = random.Random(seed)
    with notes.open("a", buffering=1) as file:
        noted, worker, longest = Noted(file), None, 1.0
        while time.time() < until:
            begun = time.monotonic()
            try:
                if worker is None:
                    worker = Worker(url, noted, rng)
                worker.once()
            except Exception as error:
                call = "open" if worker is None else worker.call
                kind = "refused" if isinstance(error, NoRegretError) else "broke"
                noted(kind, call, type(error).__name__, str(error)[:200])
            took = time.monotonic() - begun
            if took > hang:
                noted("hung", "open" if worker is None else worker.call, took, "")
            if took > longest:
                longest = took
                noted("slowest", "open" if worker is None else worker.call, took, "")


# -- the same load on Optuna --


def work_with_optuna(url: str, notes: Path, seed: int, until: float, hang: float) -> None:
    """Optuna's calls at random: ask, tell, add, enqueue, list. It has no others to mix in."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    rng = random.Random(seed)
    space = {
        "x": optuna.distributions.FloatDistribution(0, 1),
        "c": optuna.distributions.CategoricalDistribution(["a", "b", "c"]),
    }
    study: Any = None
    mine: list[Any] = []
    with notes.open("a", buffering=1) as file:
        noted = Noted(file)
        while time.time() < until:
            begun, call = time.monotonic(), rng.choice(CALLS)
            try:
                if study is None:
                    call = "open"
                    study = optuna.load_study(
                        study_name="soak",
                        storage=optuna.storages.RDBStorage(url),
                        sampler=optuna.samplers.RandomSampler(seed),
                    )
                elif call == "ask":
                    trial = study.ask(space)
                    mine.append(trial)
                    noted("asked", "soak", trial.number, trial.params)
                elif call == "tell" and mine:
                    trial = mine.pop(rng.randrange(len(mine)))
                    study.tell(trial, value_of(trial.params))
                    noted("told", "soak", trial.number, value_of(trial.params))
                elif call in ("add", "correct"):
                    point = {"x": rng.random(), "c": rng.choice("abc")}
                    study.add_trial(
                        optuna.trial.create_trial(
                            params=point, distributions=space, value=value_of(point)
                        )
                    )
                elif call == "enqueue" and rng.random() < 0.3:
                    study.enqueue_trial({"x": rng.random(), "c": "a"})
                elif call == "look":
                    optuna.get_all_study_summaries(study._storage)
                else:
                    time.sleep(rng.expovariate(50))
            except Exception as error:
                noted("broke", call, type(error).__name__, str(error)[:200])
            took = time.monotonic() - begun
            if took > hang:
                noted("hung", call, took, "")
