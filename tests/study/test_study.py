import itertools
import json
import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret.errors import ConfigurationError, SpaceError, TrialError
from noregret.extensions.marginal_gp_ucb import HMC
from noregret.space.array import Array
from noregret.trials import Decision, Trial
from tests.recorded import recorded

STRATEGIES = [
    nr.InsuredGPUCB(),
    nr.AdaptiveGPUCB.rigorous(0.4),
    nr.AdaptiveGPUCB.paper(0.4, estimator="regret_bound", anchored=True),
    nr.AdaptiveGPUCB.paper(0.4),
    nr.GPUCB(),
    nr.GPUCB(lengthscales=0.3, norm_bound=2.0, noise_std=0.4, width="mixture"),
    nr.MarginalGPUCB(sampler=HMC(5, 5, 1)),
    nr.MinimumUncertainty(),
    nr.LogEI(),
    nr.RandomSearch(),
]


def name(strategy: Any) -> str:
    return f"{type(strategy).__name__}-{STRATEGIES.index(strategy)}"


def quadratic(x: Array) -> float:
    return float(-np.sum((np.asarray(x) - 0.3) ** 2))


SEARCHING: list[Any] = [
    nr.AdaptiveGPUCB.rigorous(0.1, norm_bound=5.0),  # a class that holds the function
    *(s for s in STRATEGIES if s != STRATEGIES[1] and not isinstance(s, nr.RandomSearch)),
]


def best_before_and_after(strategy: nr.strategies.Strategy) -> tuple[float, float]:
    """The least regret of the four initial points and of the sixteen decisions after them, averaged
    over two seeds.
    """
    runs = [
        nr.maximize(lambda x: 10 * quadratic(x), [(0, 1)] * 2, 20, strategy, seed)
        for seed in (3, 4)
    ]
    regrets = -np.array([[trial.value for trial in run.trials] for run in runs], dtype=np.float64)
    return float(regrets[:, :4].min(axis=1).mean()), float(regrets[:, 4:].min(axis=1).mean())


@pytest.mark.parametrize("strategy", SEARCHING, ids=lambda s: type(s).__name__)
def test_every_search_improves_on_its_initial_design(strategy: nr.strategies.Strategy) -> None:
    before, after = best_before_and_after(strategy)
    assert after < 0.1 * before
    assert strategy.theorem


def test_negative_control_random_points_do_not() -> None:
    before, after = best_before_and_after(nr.RandomSearch())
    assert after > 0.1 * before


@pytest.mark.parametrize("strategy", STRATEGIES, ids=name)
def test_same_seed_same_queries(strategy: nr.strategies.Strategy) -> None:
    runs = [
        nr.maximize(quadratic, [(0, 1), (0, 1)], trials=8, strategy=strategy, seed=5)
        for _ in range(2)
    ]
    for a, b in zip(*(run.trials for run in runs), strict=True):
        np.testing.assert_array_equal(a.params, b.params)
    other = nr.Study([(0, 1), (0, 1)], "maximize", strategy, seed=6).ask()
    assert not np.array_equal(other.params, runs[0].trials[0].params)


@pytest.mark.parametrize("strategy", STRATEGIES, ids=name)
def test_a_study_rebuilt_from_its_trials_goes_on_bit_for_bit(
    strategy: nr.strategies.Strategy,
) -> None:
    space = {"x": nr.Float(0.01, 10, log=True), "n": nr.Int(1, 50), "c": nr.Choice(["a", "b", "c"])}

    def loss(p: dict[str, Any]) -> float:
        return math.log10(p["x"]) ** 2 + (p["n"] - 17) ** 2 / 1000 + (p["c"] == "a")

    study = nr.minimize(loss, space, trials=11, strategy=strategy, seed=2)
    pending = study.ask()  # one in flight, as after a crash
    failed = study.ask()
    study.tell(failed, state="failed")
    rows = json.loads(json.dumps([trial.to_json() for trial in study.trials], allow_nan=False))
    again = nr.Study(space, "minimize", strategy, 2, trials=[Trial.from_json(row) for row in rows])
    assert again.trials == study.trials
    for _ in range(3):
        ours, theirs = study.ask(), again.ask()
        assert ours.params == theirs.params
        assert ours.decision == theirs.decision
        value = loss(ours.params)
        study.tell(ours, value)
        again.tell(theirs, value)
    assert study.trials[pending.number].state == "running"


def test_spaces_decide_what_the_objective_gets() -> None:
    seen: list[Any] = []

    def keep(x: Any) -> float:
        seen.append(x)
        return 0.0

    nr.minimize(keep, {"a": nr.Float(0, 1)}, trials=1)
    nr.minimize(keep, [(0, 1), (2, 3)], trials=1)
    nr.minimize(keep, nr.Candidates([{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]), trials=1)
    assert isinstance(seen[0], dict)
    assert isinstance(seen[1], np.ndarray)
    assert seen[2] in ({"a": 1, "b": "x"}, {"a": 2, "b": "y"})


def test_minimising_is_maximising_the_negative() -> None:
    up = nr.maximize(quadratic, [(0, 1)], trials=12, seed=1)
    down = nr.minimize(lambda x: -quadratic(x), [(0, 1)], trials=12, seed=1)
    for a, b in zip(up.trials, down.trials, strict=True):
        np.testing.assert_array_equal(a.params, b.params)
    assert up.best.number == down.best.number
    assert up.recommended.number == down.recommended.number


def test_a_decision_says_why() -> None:
    study = nr.maximize(quadratic, [(0, 1)], trials=8, strategy=nr.AdaptiveGPUCB.rigorous(0.1))
    first = study.trials[0]
    assert first.decision == Decision("initial", algorithm=2)
    assert (first.why.kind, first.why.t) == ("initial", 0)
    assert math.isnan(first.why.mean)
    why = recorded(study.trials[-1])
    for key in ("norm_bound", "beta_sqrt", "information_gain", "noise_std"):
        assert getattr(why, key) is not None, key
    assert why.proved
    assert why.norm_lower_bound is not None
    assert [t.why.t for t in study.trials[2:]] == [1, 2, 3, 4, 5, 6]


def test_several_asks_before_a_tell_differ() -> None:
    study = nr.maximize(quadratic, [(0, 1)], trials=6, seed=0)
    batch = study.ask(4)
    points = [float(t.params[0]) for t in batch]
    assert len({round(p, 4) for p in points}) == 4
    for trial in reversed(batch):
        study.tell(trial.number, quadratic(trial.params))
    assert all(t.state == "complete" for t in study.trials)


def test_pending_points_leave_the_belief_alone() -> None:
    study = nr.maximize(
        quadratic,
        [(0, 1)],
        trials=6,
        seed=0,
        strategy=nr.GPUCB(lengthscales=0.3, noise_std=0.1, width="mixture"),
    )
    grid = np.linspace(0, 1, 30)[:, None]
    before = study.belief()
    study.ask(3)
    after = study.belief()
    assert before is not None
    assert after is not None
    np.testing.assert_array_equal(before.predict(grid), after.predict(grid))
    np.testing.assert_array_equal(before.band(grid), after.band(grid))


def test_added_data_count_as_data_not_as_decisions() -> None:
    study = nr.Study([(0, 1)], "maximize", seed=0)
    for x in np.linspace(0, 1, 6):
        study.add([x], quadratic(np.array([x])), noise_std=0.01)
    trial = study.ask()
    assert trial.decision.source == "model"
    assert trial.why.t == 1
    with pytest.raises(SpaceError, match="outside"):
        study.add([2.0], 0.0)
    with pytest.raises(TrialError, match="finite"):
        study.add([0.5], math.nan)
    assert len(study.trials) == 7


def test_told_noise_is_believed() -> None:
    """A point told with large noise moves the mean less than the same value told as exact."""
    means = []
    for noise in (0.001, 3.0):
        study = nr.Study(
            [(0, 1)],
            "maximize",
            strategy=nr.GPUCB(lengthscales=0.2, noise_std=0.1, width="mixture", initial_points=1),
        )
        study.add([0.2], 0.0)
        study.add([0.8], 5.0, noise_std=noise)
        belief = study.belief()
        assert belief is not None
        means.append(belief.predict(np.array([[0.8]]))[0][0])
    assert means[0] == pytest.approx(5.0, rel=0.01)
    assert means[1] < 1.0


@pytest.mark.parametrize(
    "value",
    [
        math.nan,
        math.inf,
        -math.inf,
        "1",
        None,
        [1.0, 2.0],
        np.array([1.0, 2.0]),
        True,
        {"a": 1},
        1j,
        object(),
    ],
)
def test_bad_values_are_refused_and_the_trial_stays_open(value: Any) -> None:
    study = nr.Study([(0, 1)], "maximize")
    trial = study.ask()
    with pytest.raises(TrialError, match=r"nothing was recorded"):
        study.tell(trial, value)
    assert study.trials[0].state == "running"
    assert study.tell(trial, 1.0).value == 1.0


@pytest.mark.parametrize(
    "value", [1, 1.5, np.float32(2.5), np.int64(3), np.array(4.0), np.array([5.0])]
)
def test_good_values(value: Any) -> None:
    study = nr.Study([(0, 1)], "maximize")
    assert study.tell(study.ask(), value).value == pytest.approx(
        float(np.asarray(value).reshape(()))
    )


def test_unknown_finished_and_twice_told_trials() -> None:
    study = nr.Study([(0, 1)], "maximize")
    trial = study.ask()
    for unknown in (99, -1):
        with pytest.raises(TrialError, match="there is no trial"):
            study.tell(unknown, 1.0)
    with pytest.raises(TrialError, match="Trial or its number"):
        study.tell("0", 1.0)  # type: ignore[arg-type]
    study.tell(trial, 1.0)
    with pytest.raises(TrialError, match=r"complete with value 1\.0 already"):
        study.tell(trial, 2.0)
    with pytest.raises(TrialError, match="already"):
        study.tell(trial, state="failed")
    second = study.ask()
    with pytest.raises(TrialError, match="has no value"):
        study.tell(second, 1.0, state="failed")
    with pytest.raises(TrialError, match="state is"):
        study.tell(second, 1.0, state="done")  # type: ignore[arg-type]
    for noise in (0.0, -1.0, math.nan, "a"):
        with pytest.raises(TrialError, match="noise_std"):
            study.tell(second, 1.0, noise_std=noise)
    assert study.trials[0].value == 1.0
    assert study.trials[1].state == "running"


def flaky() -> Iterator[Any]:
    calls = 0

    def f(x: Array) -> float:
        nonlocal calls
        calls += 1
        if calls % 3 == 0:
            raise ValueError("broken")
        return quadratic(x)

    yield f


def test_an_objective_that_raises() -> None:
    f = next(flaky())
    study = nr.Study([(0, 1)], "maximize")
    with pytest.raises(ValueError, match="broken"):
        study.run(f, 10)
    assert [t.state for t in study.trials] == ["complete", "complete", "failed"]
    study.run(f, 9, catch=(ValueError,))  # the study stays usable
    assert [t.state for t in study.trials].count("failed") == 4
    with pytest.raises(TrialError, match="finite"):
        study.run(lambda x: math.nan, 1)
    assert study.trials[-1].state == "failed"
    with pytest.raises(KeyboardInterrupt):
        study.run(lambda x: (_ for _ in ()).throw(KeyboardInterrupt), 1)
    assert study.trials[-1].state not in ("complete", "failed")


@pytest.mark.parametrize("strategy", STRATEGIES, ids=name)
def test_failed_regions_are_not_proposed_again_and_again(strategy: nr.strategies.Strategy) -> None:
    """The best half of the interval always fails: the search must not sit there."""

    def f(x: Array) -> float:
        if x[0] > 0.6:
            raise RuntimeError("crash")
        return float(x[0])

    study = nr.Study([(0, 1)], "maximize", strategy=strategy, seed=1).run(
        f, 30, catch=(RuntimeError,)
    )
    failed = sorted(float(t.params[0]) for t in study.trials if t.state == "failed")
    if not isinstance(strategy, nr.InsuredGPUCB | nr.LogEI):  # which learn where it fails
        assert all(b - a >= 0.0099 for a, b in itertools.pairwise(failed))
    # where it failed repeatedly it looks no more; expected improvement alone takes long to give up
    # a gain of half the range, even at a small probability to succeed
    assert len(failed) <= (25 if isinstance(strategy, nr.LogEI) else 15)


@pytest.mark.parametrize("strategy", STRATEGIES, ids=name)
def test_a_failed_design_is_not_proposed_again(strategy: nr.strategies.Strategy) -> None:
    space = {"n": nr.Int(1, 4), "c": nr.Choice(["a", "b", "c"])}
    study = nr.Study(space, "maximize", strategy=strategy, seed=3)
    for _ in range(24):
        trial = study.ask()
        if trial.params["n"] >= 3:  # the best ones, six of twelve
            study.tell(trial, state="failed")
        else:
            study.tell(trial, float(trial.params["n"]))
    failed = [tuple(t.params.values()) for t in study.trials if t.state == "failed"]
    assert len(failed) == len(set(failed))
    hopeless = nr.Study(space, "maximize", strategy=strategy, seed=3)
    for _ in range(14):  # everything fails: it goes on asking all the same
        hopeless.tell(hopeless.ask(), state="failed")


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12, 1e300])
@pytest.mark.parametrize(
    "strategy",
    [
        s
        for s in STRATEGIES
        if getattr(s, "standardise", not isinstance(getattr(s, "width", 2.0), str))
        and not isinstance(s, nr.RadiusGPUCB)
    ],
    ids=name,
)
def test_scale_does_not_matter_when_values_are_standardised(
    scale: float, strategy: nr.strategies.Strategy
) -> None:
    plain = nr.maximize(quadratic, [(0, 1)], trials=8, strategy=strategy, seed=0)
    scaled = nr.maximize(
        lambda x: scale * quadratic(x), [(0, 1)], trials=8, strategy=strategy, seed=0
    )
    for a, b in zip(plain.trials, scaled.trials, strict=True):
        np.testing.assert_allclose(a.params, b.params, atol=2e-2)


@pytest.mark.parametrize("strategy", STRATEGIES, ids=name)
def test_degenerate_data(strategy: nr.strategies.Strategy) -> None:
    constant = nr.maximize(lambda x: 3.0, [(0, 1)], trials=8, strategy=strategy)
    assert constant.best.value == 3.0
    copies = nr.Study([(0, 1)], "maximize", strategy=strategy)
    for i in range(50):
        copies.add([0.5], 1.0 + 0.1 * (i % 2))
    copies.tell(copies.ask(), 1.2)
    single = nr.Study([(0, 1)], "maximize", strategy=strategy)
    single.add([0.5], 1e-12)
    single.tell(single.ask(), 2.0)
    assert single.recommended.value is not None


@pytest.mark.parametrize(
    "strategy",
    [nr.InsuredGPUCB(), nr.AdaptiveGPUCB.rigorous(0.4), nr.LogEI()],
    ids=lambda s: type(s).__name__,
)
def test_fifty_dimensions(strategy: nr.strategies.Strategy) -> None:
    study = nr.Study([(0, 1)] * 50, "maximize", strategy=strategy)
    rng = np.random.default_rng(0)
    for x in rng.random((200, 50)):
        study.add(x, quadratic(x[:3]))
    trial = study.ask()
    assert trial.decision.source == "model"
    study.tell(trial, 0.0)


def test_best_and_recommended_differ_under_noise() -> None:
    study = nr.Study(
        [(0, 1)], "maximize", strategy=nr.GPUCB(lengthscales=0.2, noise_std=1.0, width="mixture")
    )
    for _ in range(10):
        study.add([0.2], 1.0)
    study.add([0.8], 1.3)  # one lucky reading
    assert study.best.params[0] == 0.8
    assert study.recommended.params[0] == pytest.approx(0.2)
    with pytest.raises(TrialError, match="no trial is complete"):
        _ = nr.Study([(0, 1)], "maximize").best


def test_certificate_bounds_the_regret_and_says_when() -> None:
    study = nr.maximize(
        quadratic,
        [(0, 1)],
        trials=25,
        strategy=nr.AdaptiveGPUCB.rigorous(0.05, norm_bound=1.0, lengthscales=0.5),
    )
    certificate = study.certificate(delta=0.1)
    assert 0 <= -quadratic(certificate.params) <= certificate.regret_bound
    assert "if f" in certificate.condition
    assert "0.9" in certificate.condition
    assert study.certificate(delta=0.01).regret_bound > certificate.regret_bound
    assert nr.maximize(quadratic, [(0, 1)], trials=5).certificate().condition.startswith("a guess")
    with pytest.raises(ConfigurationError, match="delta"):
        study.certificate(delta=1.5)
    with pytest.raises(TrialError, match="model"):
        nr.maximize(quadratic, [(0, 1)], trials=3, strategy=nr.RandomSearch()).certificate()


def test_two_workers_share_a_study() -> None:
    study = nr.Study(
        [(0, 1)],
        "maximize",
        seed=0,
        strategy=nr.GPUCB(lengthscales=0.2, noise_std=0.1, width="mixture"),
    )

    def work(_: int) -> None:
        for _ in range(10):
            trial = study.ask()
            study.tell(trial, quadratic(trial.params))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert [t.number for t in study.trials] == list(range(40))
    assert all(t.state == "complete" for t in study.trials)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: nr.Study([(0, 1)], goal="up"), "goal"),  # type: ignore[arg-type]
        (lambda: nr.Study([(0, 1)], "maximize", seed=-1), "seed"),
        (lambda: nr.Study([(0, 1)], "maximize", seed=1.5), "seed"),  # type: ignore[arg-type]
        (lambda: nr.Study([(0, 1)], "maximize", strategy="ucb"), "strategy"),  # type: ignore[arg-type]
        (lambda: nr.Study([(0, 1)], "maximize", strategy=nr.AdaptiveGPUCB), "strategy"),  # type: ignore[arg-type]
        (lambda: nr.Study([(0, 1)], "maximize").run(quadratic, -1), "trials"),
        (lambda: nr.Study([(0, 1)], "maximize").ask(0), "count"),
    ],
)
def test_bad_settings(make: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        make()


def test_progress_is_silent_off_a_terminal_and_can_be_switched(
    capsys: pytest.CaptureFixture[str],
) -> None:
    nr.maximize(quadratic, [(0, 1)], trials=4)
    assert capsys.readouterr().err == ""
    nr.maximize(quadratic, [(0, 1)], trials=4, progress=True)
    shown = capsys.readouterr().err
    assert "4/4" in shown
    assert "best" in shown
    assert "lengthscale" in shown
    assert repr(nr.maximize(quadratic, [(0, 1)], trials=4)).startswith(
        "<Study 'study': maximize, 4 of 4"
    )
