"""Failed trials given out again: the old entry stays, a waiting one takes its place."""

from __future__ import annotations

from noregret.errors import TrialError, UnknownTrialError
from noregret.storage import Storage
from noregret.trials import Decision, Trial, corrections, latest


def retried(storage: Storage, key: str, number: int) -> Trial:
    """The trial that waits in the place of a failed one, whichever of its entries is named."""
    while True:
        trials = storage.trials(key)
        if not 0 <= number < len(trials):
            raise UnknownTrialError(
                f"there is no trial {number}: this study has {len(trials)} (numbers from 0); only a"
                " failed trial can be given out again"
            )
        old = trials[latest(number, corrections(trials))]
        if old.state != "failed":
            raise TrialError(f"trial {old.number} is {old.state}: {ADVICE[old.state]}")
        new = Trial(
            len(trials),
            old.proposed,
            "waiting",
            decision=Decision("retry"),
            corrects=old.number,
            note=old.note,
            attributes=old.attributes,
        )
        if storage.insert(key, [new]):
            return storage.trials(key)[new.number]


ADVICE = {
    "waiting": "the next ask gives it out, there is nothing to retry",
    "running": "it is under way; if its worker is gone, reclaim(numbers=[…]) takes it back",
    "complete": "only a failed trial can be given out again; enqueue() its point to measure it"
    " once more",
    "withdrawn": "nobody was to run it; enqueue() its point to have it tried after all",
}
