"""A Tune driver of its own process: forty trials, four at once; its loop dies in the middle, the
experiment is restored and goes on.

python tune_driver.py FOLDER PAGE also runs the example of the documentation's page, and prints what
came of it as JSON. A process of its own, because Ray leaves files open in a driver that died.
"""

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

os.environ.update(RAY_USAGE_STATS_ENABLED="0", RAY_AIR_NEW_OUTPUT="0", TUNE_GLOBAL_CHECKPOINT_S="1")

import ray
from ray import tune
from ray.tune.search import ConcurrencyLimiter

from noregret.integrations.ray import NoRegretSearch

SPACE = {"x": tune.uniform(0, 1), "inner": {"k": tune.randint(0, 4), "name": "constant"}}


class Trainable(tune.Trainable):  # type: ignore[misc]
    """One step; actors are reused, so that forty trials need four processes."""

    def setup(self, config: dict[str, Any]) -> None:
        self.config = config

    def reset_config(self, config: dict[str, Any]) -> bool:
        self.config = config
        return True

    def step(self) -> dict[str, Any]:
        return {"loss": (self.config["x"] - 0.3) ** 2 + self.config["inner"]["k"], "done": True}

    def save_checkpoint(self, checkpoint_dir: str) -> dict[str, Any]:
        return {}

    def load_checkpoint(self, checkpoint: Any) -> None:
        pass


class Death(tune.Callback):  # type: ignore[misc]
    """Raises in Tune's own loop after twenty trials, once."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def on_step_end(self, iteration: int, trials: list[Any], **info: Any) -> None:
        if sum(trial.status == "TERMINATED" for trial in trials) >= 20 and not self.mark.exists():
            self.mark.touch()
            raise RuntimeError("the driver dies")


def runs(search: NoRegretSearch) -> dict[str, dict[str, Any]]:
    return {
        name: {
            "params": run.params,
            "state": run.state,
            "value": run.value,
            "t": None if run.decision.model is None else run.decision.model.t,
        }
        for name, run in search._runs.items()
    }


def main(folder: Path) -> dict[str, Any]:
    search = NoRegretSearch(seed=0)
    tuner = tune.Tuner(
        Trainable,
        param_space=SPACE,
        tune_config=tune.TuneConfig(
            search_alg=ConcurrencyLimiter(search, 4),
            metric="loss",
            mode="min",
            num_samples=40,
            reuse_actors=True,
        ),
        run_config=tune.RunConfig(
            storage_path=str(folder),
            name="experiment",
            verbose=0,
            callbacks=[Death(folder / "died")],
        ),
    )
    died = False
    try:
        tuner.fit()
    except RuntimeError as error:
        died = "the driver dies" in str(error)
    before = runs(search)
    results = tune.Tuner.restore(
        str(folder / "experiment"), Trainable, resume_unfinished=True
    ).fit()
    restored = NoRegretSearch()
    restored.restore_from_dir(str(folder / "experiment"))
    return {
        "died": died,
        "before": before,
        "after": runs(restored),
        "trials": len(results),
        "errors": results.num_errors,
        "best": results.get_best_result().metrics["loss"],
    }


def printed_example(page: Path) -> int:
    """The block of the documentation, with four trials for forty."""
    (block,) = re.findall(r"```py\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    names: dict[str, Any] = {}
    exec(
        compile(block.replace("num_samples=40", "num_samples=4"), "integrations.md", "exec"), names
    )
    return len([result for result in names["results"] if result.error is None])


if __name__ == "__main__":
    ray.init(
        num_cpus=4,
        include_dashboard=False,
        log_to_driver=False,
        configure_logging=False,
        object_store_memory=80 * 2**20,
    )
    try:
        outcome = {**main(Path(sys.argv[1])), "printed": printed_example(Path(sys.argv[2]))}
    finally:
        ray.shutdown()
    print(json.dumps(outcome))
