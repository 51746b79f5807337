"""SMAC's BlackBoxFacade with its defaults through ask and tell; ``deterministic`` is true without
noise.

With noise SMAC asks its best points up to 3 times, its default. The initial design is told as in
its warm-start example, and its own Sobol design is empty. Candidates: proposes in the box.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from ConfigSpace import Configuration, ConfigurationSpace, Float, Integer
from smac import BlackBoxFacade, Scenario
from smac.runhistory.dataclasses import TrialInfo, TrialValue

from research.benchmarks.peers.setting import Setting, Value

PEER = "smac"
ENVIRONMENT = "smac"
NUMBERS = {"float": Float, "int": Integer}


class Adapter:
    def __init__(self, setting: Setting) -> None:
        self._setting, self._asked, self._folder = setting, None, tempfile.TemporaryDirectory()
        entries = {
            p.name: list(p.options) or NUMBERS[p.kind](p.name, (p.low, p.high), log=p.log)
            for p in setting.parameters
        }
        self._space = ConfigurationSpace(seed=setting.seed, space=entries)
        declared = {
            "deterministic": not setting.noisy,
            "n_trials": setting.trials,
            "seed": setting.seed,
        }
        scenario = Scenario(self._space, output_directory=Path(self._folder.name), **declared)
        empty = BlackBoxFacade.get_initial_design(scenario, n_configs=0)
        self._smac = BlackBoxFacade(
            scenario, lambda config, seed=0: 0.0, initial_design=empty, logging_level=False
        )

    def tell(self, x: list[Value], y: float) -> None:
        told = TrialInfo(
            Configuration(self._space, self._setting.named(x)),
            seed=self._setting.seed * self._setting.noisy,
        )
        self._smac.tell(
            self._asked if self._asked and self._asked.config == told.config else told,
            TrialValue(y),
        )

    def ask(self) -> list[Value]:
        self._asked = self._smac.ask()
        return [self._asked.config[parameter.name] for parameter in self._setting.parameters]
