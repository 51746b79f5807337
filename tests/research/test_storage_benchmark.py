"""The storage and worker benchmarks: their tables and verdicts are computed, and their clients do
what they measure.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import noregret as nr
from research.benchmarks import parallel, storage
from research.benchmarks.synthetic import standard


def results(behind: bool) -> dict[str, Any]:
    rows = [
        {
            "round": turn,
            "library": library,
            "database": database,
            "clients": clients,
            "per_second": speed,
            "errors": 0,
            "last_error": "",
        }
        for turn in range(3)
        for database in storage.DATABASES
        for clients in storage.CLIENTS
        for library, speed in (
            ("noregret", 100.0 + turn),
            ("optuna", 200.0 if behind and clients == 16 and database == "sqlite" else 10.0 + turn),
        )
    ]
    loads = [
        {"round": 0, "library": library, "database": database, "trials": 10_000, "seconds": seconds}
        for database in storage.DATABASES
        for library, seconds in (("noregret", 0.5), ("optuna", 2.0))
    ]
    return {
        "rows": rows,
        "loads": loads,
        "seconds": 4.0,
        "loaded": 10_000,
        "machine": "2 cores",
        "optuna": "5.0.0",
    }


def test_the_storage_table_says_who_is_ahead(tmp_path: Path) -> None:
    text = storage.section(results(behind=False))
    assert "noregret is ahead in every row" in text
    assert "| sqlite, 4 clients: trials per second | 101 | 11 | 9.2× |" in text
    assert "| postgresql: load 10,000 trials, seconds | 0.50 | 2.00 | 4.0× |" in text
    assert "noregret is behind in: sqlite, 16 clients: trials per second." in storage.section(
        results(behind=True)
    )
    failing = results(behind=False)
    failing["rows"][1] |= {"errors": 3, "last_error": "OperationalError: database is locked"}
    assert (
        "optuna had 3 failed asks or tells on sqlite (OperationalError: database is locked)"
        in storage.section(failing)
    )
    page = tmp_path / "page.md"
    page.write_text(f"before\n{storage.BEGIN}\nold\n{storage.END}\nafter\n")
    storage.write(results(behind=False), page)
    assert page.read_text().startswith("before\n" + storage.BEGIN)
    assert page.read_text().endswith("after\n")
    assert "old" not in page.read_text()


def test_a_client_asks_and_tells(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 's.db'}"

    def client(task: str, number: str) -> Any:
        command = [sys.executable, str(storage.CLIENT), "noregret", task, url, number]
        done = subprocess.run(command, input="go\n", capture_output=True, text=True, check=True)
        return json.loads(done.stdout.splitlines()[-1])

    client("create", "0")
    client("fill", "50")
    assert client("load", "0")["trials"] == 50
    worked = client("work", "0.2")
    assert worked["errors"] == 0
    trials = nr.Study.open("benchmark", storage=url).trials
    assert len(trials) == 50 + 1 + worked["done"]
    assert {trial.state for trial in trials} == {"complete"}


def test_simulated_workers_are_what_they_say() -> None:
    problem = standard("Hartmann-3", False)
    one, four = (
        parallel.regrets(problem, nr.RandomSearch(), workers, 0, [6, 12]) for workers in (1, 4)
    )
    assert one == four  # random points do not depend on what is pending
    assert one[1] <= one[0]


@pytest.mark.parametrize(
    ("four", "words"),
    [
        (0.12, "At the end four workers are within 1.3×; on the way they are so too"),
        (
            0.2,
            (
                "not within 1.3× on Hartmann-6 after 50; on the way they are not, on Hartmann-6"
                " after 25"
            ),
        ),
    ],
)
def test_the_worker_table_says_what_was_missed(four: float, words: str) -> None:
    rows = [
        {"problem": "Hartmann-6", "seed": s, "workers": w, "regret": [r, r]}
        for s in range(3)
        for w, r in ((1, 0.1), (4, four))
    ]
    assert words in parallel.section({"counts": [25, 50], "seeds": 3, "rows": rows})
