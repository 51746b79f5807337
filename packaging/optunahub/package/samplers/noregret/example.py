"""Tunes a noisy function of three parameters and prints how the function class grew."""

import random

import optuna
import optunahub


def objective(trial: optuna.Trial) -> float:
    x = trial.suggest_float("x", -5, 5)
    y = trial.suggest_float("y", 1e-3, 1, log=True)
    kind = trial.suggest_categorical("kind", ["flat", "steep"])
    return (x - 1) ** 2 * (3 if kind == "steep" else 1) + (y - 0.1) ** 2 + random.gauss(0, 0.05)


if __name__ == "__main__":
    sampler = optunahub.load_module(package="samplers/noregret").NoRegretSampler(seed=0)
    study = optuna.create_study(sampler=sampler)
    study.optimize(objective, n_trials=40)
    print(study.best_params, study.best_value)
    decisions = [
        trial.system_attrs["noregret"]["decision"]
        for trial in study.trials
        if "noregret" in trial.system_attrs
    ]
    print([decision["model"]["kind"] for decision in decisions if "model" in decision])
