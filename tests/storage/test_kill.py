"""Six worker processes on one study, killed at random moments and started again: nothing told is
lost, nothing is told twice.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import noregret as nr
from noregret.storage import SQLStorage
from tests.databases import make_url

TRIALS, WORKERS = 150, 6

NURSERY = """
import json, os, random, signal, sys, time
import noregret as nr
from noregret.storage import SQLStorage

url, folder, seed, trials, workers = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])
random.seed(seed)


class Noted(SQLStorage):
    def finish(self, name, number, ending, worker=None):
        done = super().finish(name, number, ending, worker)
        if done is not None:
            with open(f"{folder}/{os.getpid()}.told", "a") as notes:
                notes.write(json.dumps([number, ending.value]) + chr(10))
        return done


def objective(params):
    time.sleep(random.expovariate(100))
    return params["x"] ** 2


def work():
    random.seed(os.getpid())
    nr.Study.open("s", storage=Noted(url)).run(objective, total=trials, grace=1.0)


def hire():
    child = os.fork()
    if child == 0:
        status = 1
        try:
            work()
            status = 0
        finally:
            os._exit(status)
    return child


watched = SQLStorage(url)
at_work, killed, codes = {hire() for _ in range(workers)}, 0, []
while at_work:
    time.sleep(random.expovariate(25))
    # towards the end they are left alone: it must end by itself
    if watched.summaries()[0].trials < trials:
        victim = random.choice(sorted(at_work))
        os.kill(victim, signal.SIGKILL)
        os.waitpid(victim, 0)
        at_work = at_work - {victim} | {hire()}
        killed += 1
    for child in sorted(at_work):
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            at_work.discard(child)
            codes.append(os.waitstatus_to_exitcode(status))
print(json.dumps({"killed": killed, "codes": codes}))
"""


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_killed_workers_cost_nothing_that_was_told(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = make_url(kind, request)
    storage = SQLStorage(url)
    study = nr.Study(
        {"x": nr.Float(0, 1)}, "minimize", nr.RandomSearch(), name="s", storage=storage
    )
    command = [
        sys.executable,
        "-W",
        "error",
        "-c",
        NURSERY,
        url,
        str(tmp_path),
        "7",
        str(TRIALS),
        str(WORKERS),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    outcome = json.loads(done.stdout)
    assert outcome["killed"] >= 10
    assert outcome["codes"] == [0] * WORKERS  # those that were not killed ended by themselves
    trials = study.trials
    assert [trial.number for trial in trials] == list(range(TRIALS))
    assert all(trial.is_finished for trial in trials)
    told = [
        tuple(json.loads(line))
        for notes in tmp_path.glob("*.told")
        for line in notes.read_text().splitlines()
    ]
    assert len({number for number, _ in told}) == len(told)  # none was told twice
    assert {number: trials[number].value for number, _ in told} == dict(
        told
    )  # every value whose tell returned is there
    for trial in trials:  # and at the right point
        assert trial.value is None or trial.value == trial.params["x"] ** 2
    assert sum(trial.state == "complete" for trial in trials) >= 0.95 * TRIALS
    replay = study.replay()
    assert (replay.agreed, replay.number) == (TRIALS, None)
    storage.close()
