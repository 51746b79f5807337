"""What every storage must do. Subclass it in your tests, give ``make_storage``, and pytest runs it:

class TestMyStorage(StorageContract):
    def make_storage(self):
        return MyStorage()
"""

from __future__ import annotations

import pickle
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from noregret.errors import StorageError
from noregret.space import Float, Space
from noregret.storage import UNLIMITED, Storage, StudyRecord
from noregret.strategies import InsuredGPUCB, RandomSearch
from noregret.study import Study, minimize
from noregret.trials import About, Decision, ModelDecision, Trial


def record(name: str) -> StudyRecord:
    return StudyRecord(name, Space({"x": Float(0, 1)}), "minimize", RandomSearch(), 7)


def refused(call: Callable[[], Any], text: str) -> None:
    """That a call ends in a StorageError which says this."""
    said = None
    try:
        call()
    except StorageError as error:
        said = str(error)
    assert said is not None, f"a StorageError with {text!r} was due"
    assert text in said, f"the error should say {text!r}, it says {said}"


class StorageContract(ABC):
    """Trials are keyed by (study, number), gap-free from 0; a finished one never changes."""

    @abstractmethod
    def make_storage(self) -> Storage:
        """An empty storage of its own."""

    def filled(self) -> Storage:
        storage = self.make_storage()
        storage.create(record("s"))
        return storage

    def test_trials_are_appended_under_the_next_numbers(self) -> None:
        storage = self.filled()
        first = storage.append("s", [Trial(9, {"x": 0.1}, "complete", 1.0)])
        more = storage.append("s", [Trial(0, {"x": 0.2}, "waiting"), Trial(0, {"x": 0.3})], "w")
        assert first is not None
        assert more is not None
        assert [trial.number for trial in [*first, *more]] == [0, 1, 2]
        assert [trial.worker for trial in more] == [None, "w"]  # whoever runs one is its worker
        assert storage.trials("s") == [*first, *more]
        assert all(trial.created is not None for trial in storage.trials("s"))
        assert storage.append("s", []) == []

    def test_appending_stops_at_a_limit_with_all_or_none(self) -> None:
        storage = self.filled()
        two = [Trial(0, {"x": 0.1}, "complete", 1.0), Trial(0, {"x": 0.2}, "complete", 2.0)]
        assert storage.append("s", two, below=1) is None
        assert storage.trials("s") == []
        assert storage.append("s", two, below=2) is not None
        assert storage.append("s", two[:1], below=2) is None
        assert len(storage.trials("s")) == 2

    def test_appending_looks_first_at_what_came_meanwhile(self) -> None:
        storage, looked = self.filled(), list[list[Trial]]()

        def refuses(others: Sequence[Trial]) -> bool:
            looked.append(list(others))
            return True

        there = storage.append("s", [Trial(0, {"x": 0.1}), Trial(0, {"x": 0.2})], unless=refuses)
        assert there is not None  # nothing came
        assert looked == []
        assert storage.append("s", [Trial(1, {"x": 0.3})], unless=refuses) is None
        assert looked == [there[1:]]
        assert storage.trials("s") == there
        more = storage.append("s", [Trial(1, {"x": 0.3})], "w", unless=lambda others: not others)
        assert more is not None
        assert more[0].number == 2

    def test_of_many_that_look_first_only_one_appends_the_same(self) -> None:
        storage = self.filled()

        def add(index: int) -> bool:
            def is_there(others: Sequence[Trial]) -> bool:
                return any(other.params == {"x": 0.5} for other in others)

            return storage.append("s", [Trial(0, {"x": 0.5})], unless=is_there) is not None

        with ThreadPoolExecutor(4) as pool:
            assert sum(pool.map(add, range(8))) == 1
        assert len(storage.trials("s")) == 1

    def test_many_append_at_once_without_a_gap(self) -> None:
        storage = self.filled()

        def add(index: int) -> list[int]:
            made = [storage.append("s", [Trial(0, {"x": 0.5}, "complete", 1.0)]) for _ in range(5)]
            return [trials[0].number for trials in made if trials is not None]

        with ThreadPoolExecutor(4) as pool:
            numbers = [number for each in pool.map(add, range(4)) for number in each]
        assert sorted(numbers) == list(range(20))

    def test_a_key_is_one_study_and_a_name_is_whichever_has_it(self) -> None:
        storage = self.make_storage()
        made = storage.create(record("s"))
        assert (storage.key("s"), storage.key("s").identity) == ("s", made.identity)
        assert storage.open("s").key == made
        assert storage.insert(made, [Trial(0, {"x": 0.1})])
        assert len(storage.trials(made)) == 1
        storage.delete(made)
        refused(lambda: storage.key("s"), "no study named 's'")
        again = storage.create(record("s"))
        assert again.identity != made.identity
        for call in (
            lambda: storage.trials(made),
            lambda: storage.append(made, [Trial(0, {"x": 0.1})]),
            lambda: storage.insert(made, [Trial(0, {"x": 0.1})]),
        ):
            refused(call, "made anew")
        assert storage.trials(again) == []
        assert pickle.loads(pickle.dumps(again)).identity == again.identity

    def test_whether_a_failure_was_transient_comes_back(self) -> None:
        storage = self.filled()
        given = [Trial(0, {"x": 0.1}, "failed", transient=True), Trial(1, {"x": 0.2})]
        storage.insert("s", [*given, Trial(2, {"x": 0.3}), Trial(3, {"x": 0.4})])
        told = storage.finish("s", 1, "failed", None, None, about=About(transient=True))
        storage.finish("s", 2, "failed", None, None)
        storage.reclaim("s", 0, numbers=[3])  # nobody knows anything of the point
        assert told is not None
        assert told.transient
        assert [trial.transient for trial in storage.trials("s")] == [True, True, False, True]

    def test_records_come_back(self) -> None:
        storage = self.filled()
        assert storage.open("s") == record("s")
        storage.create(record("other"))
        assert storage.names() == ["other", "s"]

    def test_a_study_is_read_with_its_trials(self) -> None:
        storage = self.filled()
        key = storage.key("s")
        assert storage.read("s") == (record("s"), [])
        storage.insert("s", [Trial(0, {"x": 0.1}, "complete", 2.0), Trial(1, {"x": 0.2})])
        storage.annotate("s", None, "a note", {"unit": "g"})
        for name in ("s", key):
            opened, trials = storage.read(name)
            assert opened.key is not None
            assert opened.key.identity == key.identity
            assert (opened, trials) == (storage.open(name), storage.trials(name))
            assert (opened.note, opened.attributes) == ("a note", {"unit": "g"})
            assert [trial.value for trial in trials] == [2.0, None]
        refused(lambda: storage.read("nope"), "no study named 'nope'")
        storage.delete("s")
        refused(lambda: storage.read(key), "no study named 's'")
        storage.create(record("s"))
        refused(lambda: storage.read(key), "made anew")

    def test_a_name_is_taken_once_and_a_missing_one_is_said(self) -> None:
        storage = self.filled()
        refused(lambda: storage.create(record("s")), "exists already")
        refused(lambda: storage.open("nope"), "no study named 'nope'")
        refused(lambda: storage.trials("nope"), "no study named 'nope'")

    def test_numbers_are_gap_free_and_taken_once(self) -> None:
        storage = self.filled()
        assert storage.insert("s", [Trial(0, {"x": 0.1})])
        assert not storage.insert("s", [Trial(0, {"x": 0.2})])
        assert not storage.insert("s", [Trial(2, {"x": 0.2})])
        assert storage.insert("s", [Trial(1, {"x": 0.3}, "complete", 1.0)])
        assert [t.params for t in storage.trials("s")] == [{"x": 0.1}, {"x": 0.3}]

    def test_many_are_inserted_at_once_or_none(self) -> None:
        storage = self.filled()
        three = [Trial(n, {"x": n / 10}, "complete", float(n)) for n in range(3)]
        assert storage.insert("s", three)
        assert not storage.insert("s", [Trial(2, {"x": 0.5}), Trial(3, {"x": 0.6})])
        assert not storage.insert("s", [Trial(3, {"x": 0.5}), Trial(5, {"x": 0.6})])
        assert not storage.insert("s", [Trial(4, {"x": 0.5}), Trial(5, {"x": 0.6})])
        assert storage.insert("s", [])
        assert storage.trials("s") == three

    def test_of_two_finishes_one_wins(self) -> None:
        storage = self.filled()
        storage.insert("s", [Trial(0, {"x": 0.1}), Trial(1, {"x": 0.2}, "waiting")])
        finished = storage.finish("s", 0, "complete", 3.0, 0.1)
        assert finished == Trial(0, {"x": 0.1}, "complete", 3.0, 0.1)
        assert finished.created is not None
        assert finished.finished is not None
        assert finished.created <= finished.finished
        assert storage.finish("s", 0, "complete", 4.0, None) is None
        assert storage.finish("s", 0, "failed", None, None) is None
        assert storage.finish("s", 2, "failed", None, None) is None  # there is no such trial
        # a waiting trial may be told too
        assert storage.finish("s", 1, "complete", 5.0, None) is not None
        assert [t.value for t in storage.trials("s")] == [3.0, 5.0]

    def test_an_outcome_brings_its_remarks(self) -> None:
        storage = self.filled()
        storage.insert("s", [Trial(0, {"x": 0.1}), Trial(1, {"x": 0.2}), Trial(2, {"x": 0.3})])
        told = About({"x": 0.4}, None, "a note", {"who": "anna", "list": [1, None]})
        storage.finish("s", 0, "complete", 3.0, None, about=told)
        storage.finish("s", 1, "failed", None, None, about=About(error="no gas"))
        storage.finish("s", 2, "complete", 1.0, None)
        moved, failed, plain = storage.trials("s")
        assert (moved.params, moved.asked) == ({"x": 0.4}, {"x": 0.1})
        assert (moved.note, moved.attributes) == ("a note", {"who": "anna", "list": [1, None]})
        assert (failed.error, failed.params, failed.asked) == ("no gas", {"x": 0.2}, None)
        assert (plain.error, plain.note, plain.attributes) == (None, None, {})

    def test_remarks_may_be_written_later_and_nothing_else_changes(self) -> None:
        storage = self.filled()
        storage.insert("s", [Trial(0, {"x": 0.1}, "complete", 2.0), Trial(1, {"x": 0.2})])
        before = storage.trials("s")
        storage.annotate("s", 0, "seen again", {"who": "anna"})
        storage.annotate("s", 1, None, {"cell": 4})
        after = storage.trials("s")
        assert [t.note for t in after] == ["seen again", None]
        assert [t.attributes for t in after] == [{"who": "anna"}, {"cell": 4}]
        assert [replace(t, note=None, attributes={}) for t in after] == before
        storage.finish("s", 1, "complete", 3.0, None, about=About(attributes={"lid": "shut"}))
        storage.annotate("s", 0, None, {"batch": 2})  # what is not named stays
        storage.annotate("s", 0, "", {"who": None})  # "" and None take away
        said = [(t.note, t.attributes) for t in storage.trials("s")]
        assert said == [(None, {"batch": 2}), (None, {"cell": 4, "lid": "shut"})]
        storage.annotate("s", None, "of the study", {"project": "x"})
        storage.annotate("s", None, None, {"unit": "g"})
        opened = storage.open("s")
        assert (opened.note, opened.attributes) == ("of the study", {"project": "x", "unit": "g"})
        refused(lambda: storage.annotate("nope", None, "a", {}), "no study named 'nope'")

    def test_remarks_of_many_at_once_are_all_kept(self) -> None:
        storage = self.filled()
        storage.insert("s", [Trial(0, {"x": 0.1})])
        jobs = [(number, f"{index}") for index in range(10) for number in (0, None)]
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda job: storage.annotate("s", job[0], None, {job[1]: 1}), jobs))
        every = {f"{index}": 1 for index in range(10)}
        assert storage.trials("s")[0].attributes == every
        assert storage.open("s").attributes == every

    def test_a_study_is_made_with_all_its_trials_or_not_at_all(self) -> None:
        storage = self.make_storage()
        two = [Trial(0, {"x": 0.1}, "complete", 1.0), Trial(1, {"x": 0.2}, "waiting")]
        refused(lambda: storage.create(record("s"), two[1:]), "from 0 without gaps")
        assert storage.names() == []
        assert storage.trials(storage.create(record("s"), two)) == two
        refused(lambda: storage.create(record("s"), two), "exists already")

    def test_when_a_trial_was_given_out_is_known(self) -> None:
        storage = self.filled()
        done = Trial(1, {"x": 0.1}, "complete", 1.0)
        storage.insert("s", [Trial(0, {"x": 0.1}, "waiting"), done, Trial(2, {"x": 0.2})])
        waiting, added, running = storage.trials("s")
        assert (waiting.started, added.started, added.duration) == (None, None, None)
        assert running.started is not None
        claimed = storage.claim("s", 0)
        assert claimed is not None
        assert claimed.started is not None
        ended = storage.finish("s", 0, "complete", 1.0, None)
        assert ended is not None
        assert ended.duration is not None
        assert [t.started for t in storage.reclaim("s", 3, numbers=[2])] == [None]

    def test_a_waiting_trial_is_claimed_once(self) -> None:
        storage, enqueued = self.filled(), Decision("enqueued")
        waiting = Trial(0, {"x": 0.1}, "waiting", decision=enqueued)
        storage.insert("s", [waiting, Trial(1, {"x": 0.2})])
        assert storage.claim("s", 1) is None
        assert storage.claim("s", 7) is None
        claimed = storage.claim("s", 0, "w")
        assert claimed == Trial(0, {"x": 0.1}, decision=enqueued)
        assert claimed.worker == "w"
        assert storage.claim("s", 0) is None
        assert [t.state for t in storage.trials("s")] == ["running", "running"]

    def test_only_dead_workers_lose_their_trials(self) -> None:
        """Of four running trials one has no worker, one is silent, one gives signs of life, one is
        finished.
        """
        storage = self.filled()
        for number, worker in enumerate([None, "silent", "alive", "done"]):
            assert storage.insert("s", [Trial(number, {"x": number / 10})], worker)
        assert storage.finish("s", 3, "complete", 1.0, None, worker="done") is not None
        assert storage.reclaim("s", 3, grace=60.0) == []
        time.sleep(0.3)
        storage.heartbeat("s", [1, 2, 3], "alive")  # it speaks for its own trials only
        assert [(t.number, t.state) for t in storage.reclaim("s", 3, grace=0.2)] == [(1, "waiting")]
        states = [t.state for t in storage.trials("s")]
        assert states == ["running", "waiting", "running", "complete"]
        assert [t.worker for t in storage.trials("s")] == [None, None, "alive", None]

    def test_a_trial_is_given_out_only_so_often(self) -> None:
        storage = self.filled()
        storage.insert("s", [Trial(0, {"x": 0.1})], "a")
        for expected in ("waiting", "waiting", "failed"):
            assert [t.state for t in storage.reclaim("s", 3, numbers=[0])] == [expected]
            storage.claim("s", 0, "b")
        assert storage.reclaim("s", 3, numbers=[0]) == []
        assert storage.trials("s")[0].finished is not None

    def test_what_is_given_back_on_purpose_did_not_kill_its_worker(self) -> None:
        storage = self.filled()
        storage.insert("s", [Trial(0, {"x": 0.1})], "a")
        for _ in range(4):
            assert [t.state for t in storage.reclaim("s", UNLIMITED, numbers=[0])] == ["waiting"]
            storage.claim("s", 0, "b")
        for expected in ("waiting", "waiting", "failed"):
            assert [t.state for t in storage.reclaim("s", 3, numbers=[0])] == [expected]
            storage.claim("s", 0, "b")

    def test_a_worker_gives_back_and_fails_only_what_is_its_own(self) -> None:
        storage = self.filled()
        storage.insert("s", [Trial(0, {"x": 0.1})], "a")
        assert storage.reclaim("s", 3, numbers=[0], worker="b") == []
        assert storage.finish("s", 0, "failed", None, None, worker="b") is None
        assert len(storage.reclaim("s", 3, numbers=[0], worker="a")) == 1
        # it waits for somebody else now
        assert storage.finish("s", 0, "failed", None, None, worker="a") is None
        storage.claim("s", 0, "b")
        # a value counts from whomever
        assert storage.finish("s", 0, "complete", 2.0, None) is not None

    def test_studies_are_deleted_with_their_trials(self) -> None:
        storage = self.filled()
        storage.insert("s", [Trial(0, {"x": 0.1})])
        storage.delete("s")
        assert storage.names() == []
        refused(lambda: storage.delete("s"), "no study named 's'")
        refused(lambda: storage.trials("s"), "no study named 's'")
        refused(lambda: storage.open("s"), "no study named 's'")
        storage.create(record("s"))
        assert storage.trials("s") == []

    def test_summaries(self) -> None:
        storage = self.filled()
        storage.create(record("empty"))
        corrected = Trial(5, {"x": 0.1}, "complete", 3.0, None, Decision("correction"), 0)
        states: list[Trial] = [
            Trial(0, {"x": 0.1}, "complete", -5.0),
            Trial(1, {"x": 0.2}, "complete", 2.0),
            Trial(2, {"x": 0.3}, "failed"),
            Trial(3, {"x": 0.4}),
            Trial(4, {"x": 0.5}, "waiting"),
            corrected,
        ]
        storage.insert("s", states)
        empty, full = storage.summaries()
        assert (empty.name, empty.trials, empty.best) == ("empty", 0, None)
        assert empty.last_activity == empty.created
        assert (full.name, full.goal, full.trials) == ("s", "minimize", 5)
        assert (full.waiting, full.running, full.complete, full.failed) == (1, 1, 2, 1)
        assert full.best == 2.0  # −5 was corrected
        assert full.last_activity >= full.created

    def test_trials_come_back_bit_for_bit(self) -> None:
        storage = self.filled()
        model = ModelDecision(t=1, mean=0.1 + 0.2, std=1e-17)
        decision = Decision("model", model, (3, 5), {"x": 0.1}, {"own": [1, 2]})
        trial = Trial(0, {"x": 0.1 + 0.2}, "complete", 1e-17, 0.1, decision)
        storage.insert("s", [trial])
        assert storage.trials("s") == [trial]
        listed = storage.trials("s")
        listed.clear()
        assert len(storage.trials("s")) == 1  # values out: the caller's list is its own

    def test_many_threads_share_one_study(self) -> None:
        storage = self.filled()

        def insert(value: int) -> None:
            made = False
            while not made:
                number = len(storage.trials("s"))
                trial = Trial(number, {"x": value / 100}, "complete", float(value))
                made = storage.insert("s", [trial])

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(insert, range(100)))
        trials = storage.trials("s")
        assert [t.number for t in trials] == list(range(100))
        assert sorted(float(t.value or 0.0) for t in trials) == [float(v) for v in range(100)]

    def test_a_study_resumes_from_its_rows_alone(self) -> None:
        """Opened anew after every trial it proposes bit for bit what it proposes in one go."""

        def f(x: Any) -> float:
            return float((x["x"] - 0.3) ** 2)

        storage, space = self.make_storage(), Space({"x": Float(0, 1)})
        Study(space, "minimize", InsuredGPUCB(), 5, name="stepwise", storage=storage)
        for _ in range(9):
            study = Study.open("stepwise", storage=storage)
            trial = study.ask()
            study.tell(trial, f(trial.params))
        whole = minimize(f, space, 9, InsuredGPUCB(), 5)
        stepwise = Study.open("stepwise", storage=storage).trials
        assert [t.params for t in stepwise] == [t.params for t in whole.trials]
        assert [t.decision for t in stepwise] == [t.decision for t in whole.trials]
