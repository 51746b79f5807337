"""Callbacks that log each trial to an experiment tracker:
``study.run(f, 30, callbacks=[wandb_callback(wandb.init(project="tuning"))])``.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from noregret.errors import MissingExtraError, TrialError
from noregret.space import Space, named_params
from noregret.study import Callback, Study
from noregret.trials import Trial


def mlflow_callback() -> Callback:
    """Each trial becomes a run of MLflow, nested in the active run where there is one.

    Returns:
        A callback for ``run``, ``minimize`` and ``maximize``.

    Raises:
        MissingExtraError: MLflow is not installed.
    """
    try:
        import mlflow
    except ImportError:
        raise MissingExtraError("mlflow_callback needs MLflow: pip install mlflow") from None

    def log(study: Study, trial: Trial) -> None:
        with mlflow.start_run(run_name=f"{study.name} {trial.number}", nested=True):
            mlflow.set_tags({"state": trial.state, "source": trial.why.kind})
            mlflow.log_params(_inputs(study, trial))
            mlflow.log_metrics(_numbers(study, trial))

    return log


def wandb_callback(run: Any) -> Callback:
    """Each trial becomes a row of a Weights & Biases run.

    Args:
        run: What ``wandb.init(…)`` returned.

    Returns:
        A callback for ``run``, ``minimize`` and ``maximize``.
    """

    def log(study: Study, trial: Trial) -> None:
        inputs = {f"input/{name}": value for name, value in _inputs(study, trial).items()}
        about = {"trial": trial.number, "state": trial.state, "source": trial.why.kind}
        run.log({**about, **inputs, **_numbers(study, trial)})

    return log


def tensorboard_callback(writer: Any) -> Callback:
    """Each trial becomes a step of TensorBoard's curves, and those with a value a line of its table
    of hyperparameters.

    Args:
        writer: A ``SummaryWriter`` of ``torch.utils.tensorboard`` or of ``tensorboardX``.

    Returns:
        A callback for ``run``, ``minimize`` and ``maximize``.
    """

    def log(study: Study, trial: Trial) -> None:
        inputs, numbers = _inputs(study, trial), _numbers(study, trial)
        for name, number in numbers.items():
            writer.add_scalar(name, number, trial.number)
        if trial.value is not None:
            plain = {n: v if isinstance(v, (int, float)) else str(v) for n, v in inputs.items()}
            writer.add_hparams(plain, {"hparam/value": trial.value})
        writer.flush()

    return log


def _inputs(study: Study, trial: Trial) -> dict[str, Any]:
    """The inputs of the trial that exist for its choices."""
    values = named_params(study.space, trial.params)
    return study.space.active(values) if isinstance(study.space, Space) else values


def _numbers(study: Study, trial: Trial) -> dict[str, float]:
    """What was measured, and the best value so far."""
    numbers: dict[str, float | None] = {
        "value": trial.value,
        "noise_std": trial.noise_std,
        "seconds": trial.duration,
        **trial.outcomes,
    }
    with suppress(TrialError):  # no trial is complete yet
        numbers["best"] = study.best.value
    return {name: number for name, number in numbers.items() if number is not None}
