"""Runs an experiment's jobs on all cores, keeps each finished one on disk, and writes curves,
figure and summary.

A job is a JSON-able value and its result a dict of numbers and lists. Results are appended to
``results.jsonl`` as they come, so a killed run continues where it stopped.
"""

from __future__ import annotations

import csv
import json
import multiprocessing
import os
import time
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

from matplotlib.figure import Figure

from noregret import __version__
from noregret.errors import GuaranteeWarning
from noregret.study import Progress

Result = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line may change; None: the experiment's own default."""

    out: Path
    quick: bool = False
    seeds: int | None = None
    iterations: int | None = None
    noise: float | None = None
    mnist: Path | None = None

    def pick(self, seeds: tuple[int, int], iterations: tuple[int, int]) -> tuple[int, int]:
        """(seeds, iterations) from (full, quick) defaults."""
        return self.seeds or seeds[self.quick], self.iterations or iterations[self.quick]

    @property
    def noise_std(self) -> float:
        return 0.05 if self.noise is None else self.noise  # theory.md#unstated


@dataclass(frozen=True, slots=True)
class Job:
    """One run: ``method`` and ``seed`` name it, the rest parametrises it."""

    method: str
    seed: int
    iterations: int
    noise: float
    quick: bool = False
    mnist: str | None = None

    @property
    def key(self) -> str:
        row = asdict(self)
        row.pop("mnist")  # where the data lie does not change them
        return json.dumps(row, sort_keys=True)


class Experiment(Protocol):
    """A module of this folder, one per figure."""

    NAME: str
    TITLE: str

    def jobs(self, options: Options) -> list[Job]: ...
    def run(self, job: Job) -> Result: ...
    def summarise(self, results: dict[Job, Result]) -> dict[str, Any]: ...
    def draw(self, results: dict[Job, Result]) -> Figure: ...


def quietly(run: Callable[[Job], Result], job: Job) -> Result:
    """The experiments use the printed width on purpose: its warning would be printed once per
    process.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GuaranteeWarning)
        started = time.perf_counter()
        result = run(job)
        return {**result, "seconds": time.perf_counter() - started}


def reproduce(
    experiment: Experiment,
    options: Options,
    *,
    workers: int | None = None,
    progress: bool | None = None,
) -> dict[str, Any]:
    """Computes what is missing, writes everything, returns the summary."""
    folder = options.out / experiment.NAME
    folder.mkdir(parents=True, exist_ok=True)
    jobs = experiment.jobs(options)
    results = compute(experiment, jobs, folder / "results.jsonl", workers, progress)
    ordered = {job: results[job.key] for job in jobs}
    write_curves(ordered, folder / "curves.csv")
    figure = experiment.draw(ordered)
    for kind in ("png", "pdf"):
        figure.savefig(folder / f"{experiment.NAME}.{kind}", dpi=150)
    summary = {
        "figure": experiment.NAME,
        "title": experiment.TITLE,
        "version": __version__,
        "quick": options.quick,
        "runs": len(jobs),
        "iterations": max(job.iterations for job in jobs),
        "noise_std": jobs[0].noise,
        "seconds": sum(r["seconds"] for r in ordered.values()),
        **experiment.summarise(ordered),
    }
    (folder / "summary.json").write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")
    return summary


def compute(
    experiment: Experiment,
    jobs: Sequence[Job],
    log: Path,
    workers: int | None,
    progress: bool | None,
) -> dict[str, Result]:
    done = read_log(log)
    missing = [job for job in jobs if job.key not in done]
    if not missing:
        return done
    os.environ.setdefault(
        "OPENBLAS_NUM_THREADS", "1"
    )  # one process per core: BLAS threads would fight; read by the spawned workers
    count = min(workers or os.cpu_count() or 1, len(missing))
    with (
        Progress(len(jobs), f"{experiment.NAME} ", shown=progress) as bar,
        log.open("a", encoding="utf-8") as file,
    ):
        bar.done = len(jobs) - len(missing)
        with ProcessPoolExecutor(count, mp_context=multiprocessing.get_context("spawn")) as pool:
            futures = {pool.submit(quietly, experiment.run, job): job for job in missing}
            for future in as_completed(futures):
                job = futures[future]
                done[job.key] = future.result()
                file.write(json.dumps({"key": job.key, "result": done[job.key]}) + "\n")
                file.flush()
                bar.advance(f"{job.method}, seed {job.seed}")
    return done


def read_log(log: Path) -> dict[str, Result]:
    """Finished jobs; a line cut short by a kill is skipped."""
    done: dict[str, Result] = {}
    if log.exists():
        for line in log.read_text(encoding="utf-8").splitlines():
            try:
                row = json.loads(line)
            except json.JSONDecodeError:
                continue
            done[row["key"]] = row["result"]
    return done


def write_curves(results: dict[Job, Result], path: Path) -> None:
    """Every list of numbers in long form: method, seed, quantity, index, value."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["method", "seed", "quantity", "index", "value"])
        for job, result in results.items():
            for quantity, values in result.items():
                if isinstance(values, list):
                    writer.writerows(
                        [job.method, job.seed, quantity, index, value]
                        for index, value in enumerate(values)
                    )
