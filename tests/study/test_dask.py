"""A study on a Dask cluster, one of whose worker processes is killed."""

import os
import signal
import time
from pathlib import Path
from typing import Any

import noregret as nr
from tests.components import needed

needed("distributed", "dev")

TRIALS = 60


def test_a_dask_worker_that_is_killed_costs_no_trial(tmp_path: Path) -> None:
    from distributed import Client, LocalCluster

    study = nr.Study.create(
        "s", {"x": nr.Float(0, 1)}, "minimize", nr.RandomSearch(), storage=tmp_path / "s.db"
    )
    killed: list[int] = []

    def square(params: Any) -> float:  # travels by value: workers need no copy of this file
        time.sleep(0.05)
        return float(params["x"] ** 2)

    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            local_directory=str(tmp_path),
        ) as cluster,
        Client(cluster) as client,
    ):

        def until(s: nr.Study) -> bool:
            if not killed and len(s.trials) >= 20:
                killed.append(cluster.workers[0].pid)
                os.kill(killed[0], signal.SIGKILL)
            return False

        study.run(square, TRIALS, workers=4, executor=client.get_executor(), until=until)
    assert killed
    assert [trial.state for trial in study.trials] == ["complete"] * TRIALS
    assert all(trial.value == trial.params["x"] ** 2 for trial in study.trials)
    assert study.replay().agreed == TRIALS
