"""Trackers get each trial once. TensorBoard is the real tensorboardX; MLflow and Weights & Biases
are stand-ins with the signatures of their calls: the packages are too heavy for the tests.
"""

import sys
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import noregret as nr
from noregret.errors import MissingExtraError
from noregret.integrations.trackers import mlflow_callback, tensorboard_callback, wandb_callback
from tests.components import needed

OPTIONS: Any = {"svm": {"C": nr.Float(0.1, 10)}, "forest": {"trees": nr.Int(10, 500)}}
SPACE = {"model": nr.Branch(OPTIONS), "x": nr.Float(0, 1)}


def f(p: dict[str, Any]) -> float:
    if p["x"] > 0.8:
        raise ArithmeticError("diverged")
    return float(p["x"])


def run(callback: Any) -> nr.Study:
    study = nr.Study(SPACE, "minimize", nr.RandomSearch(), name="lab")
    return study.run(f, 12, workers=2, catch=(ArithmeticError,), callbacks=[callback])


def test_mlflow(monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[dict[str, Any]] = []

    def start_run(*, run_name: str, nested: bool) -> Any:
        assert nested
        runs.append({"name": run_name})
        return nullcontext()

    module = SimpleNamespace(
        start_run=start_run,
        set_tags=lambda tags: runs[-1].update(tags=tags),
        log_params=lambda params: runs[-1].update(params=params),
        log_metrics=lambda metrics: runs[-1].update(metrics=metrics),
    )
    monkeypatch.setitem(sys.modules, "mlflow", module)
    study = run(mlflow_callback())
    runs.sort(key=lambda each: int(each["name"].split()[1]))
    assert [each["name"] for each in runs] == [f"lab {n}" for n in range(12)]
    assert [each["tags"]["state"] for each in runs] == [t.state for t in study.trials]
    assert [each["metrics"].get("value") for each in runs] == [t.value for t in study.trials]
    assert min(each["metrics"]["best"] for each in runs[-2:]) == study.best.value
    assert {len(each["params"]) for each in runs} == {3}  # without those of the other branch
    monkeypatch.setitem(sys.modules, "mlflow", None)
    with pytest.raises(MissingExtraError, match="pip install mlflow"):
        mlflow_callback()


def test_weights_and_biases() -> None:
    rows: list[dict[str, Any]] = []
    study = run(wandb_callback(SimpleNamespace(log=rows.append)))
    by_trial = {row["trial"]: row for row in rows}
    for trial in study.trials:
        row = by_trial[trial.number]
        assert (row["state"], row["source"]) == (trial.state, "random")
        assert (row.get("value"), row["input/x"]) == (trial.value, trial.params["x"])


def test_tensorboard(tmp_path: Path) -> None:
    writer = needed("tensorboardX", "dev").SummaryWriter(str(tmp_path))
    study = run(tensorboard_callback(writer))
    writer.close()
    files = [path for path in tmp_path.rglob("events.*") if path.is_file()]
    done = sum(trial.state == "complete" for trial in study.trials)
    assert len(files) == 1 + done  # the curves, and a run of each line of the table
    curves = next(path for path in files if path.parent == tmp_path).read_bytes()
    assert curves.count(b"value") >= done
    assert b"best" in curves
