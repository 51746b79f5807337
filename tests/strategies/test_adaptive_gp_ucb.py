import itertools
import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret.errors import ConfigurationError, GuaranteeWarning
from noregret.gp.fit import MAP
from noregret.rkhs.widening import (
    AnchoredReference,
    NoWidening,
    PowerGrowth,
    PowerReference,
    ReferenceRegret,
    Schedule,
)
from noregret.space.array import Array
from noregret.strategies.base import ACTIVE
from noregret.testing.problems import bump
from tests.recorded import recorded

QUIET = pytest.mark.filterwarnings("ignore::noregret.errors.GuaranteeWarning")


def run(
    strategy: nr.strategies.Strategy, trials: int, seed: int = 0, noise: float = 0.05, d: int = 1
) -> nr.Study:
    f, rng = bump(), np.random.default_rng([seed, 1])
    return nr.maximize(
        lambda x: float(f(x[:1])) + noise * rng.standard_normal(),
        [(0, 1)] * d,
        trials,
        strategy,
        seed,
    )


def points(study: nr.Study) -> Array:
    return np.array([trial.params for trial in study.trials])


# -- reduction to GP-UCB, theory.md#algorithm --


@QUIET
@pytest.mark.parametrize("width", ["paper", "mixture"])
@pytest.mark.parametrize(
    "widening",
    [
        NoWidening(),
        Schedule("constant", "constant"),
        ReferenceRegret(reference=PowerReference(0.0, 0.9)),
    ],
    ids=str,
)
def test_with_h_one_it_is_gp_ucb_bit_for_bit(width: Any, widening: Any) -> None:
    known = nr.GPUCB(lengthscales=(0.3, 0.4), norm_bound=2.0, noise_std=0.05, width=width)
    adaptive = nr.AdaptiveGPUCB(
        lengthscales=(0.3, 0.4),
        norm_bound=2.0,
        noise_std=0.05,
        width=width,
        widening=widening,
        estimation=None,
    )
    np.testing.assert_array_equal(points(run(known, 25, d=2)), points(run(adaptive, 25, d=2)))


@QUIET
def test_gp_ucb_is_the_naive_algorithm_on_a_grid() -> None:
    """Independent of Step, posterior and maximiser: dense formulas and a 20,001-point grid."""
    study = run(nr.GPUCB(lengthscales=0.1, norm_bound=2.0, noise_std=0.05, width="paper"), 30)
    grid = np.linspace(0, 1, 20_001)
    for t in range(2, 30):
        x = np.array([trial.params[0] for trial in study.trials[:t]])
        y = np.array([trial.value for trial in study.trials[:t]])
        K = np.exp(-0.5 * ((x[:, None] - x) / 0.1) ** 2) + 0.0025 * np.eye(t)
        inverse = np.linalg.inv(K)
        beta_sqrt = 2 + 4 * 0.05 * math.sqrt(
            0.5 * np.linalg.slogdet(K / 0.0025)[1] + 1 + math.log(10)
        )

        def ucb(
            at: Array,
            x: Array = x,
            y: Array = y,
            inverse: Array = inverse,
            beta_sqrt: float = beta_sqrt,
        ) -> Array:
            k = np.exp(-0.5 * ((at[:, None] - x) / 0.1) ** 2)
            return k @ inverse @ y + beta_sqrt * np.sqrt(
                1 - np.einsum("ij,jk,ik->i", k, inverse, k)
            )

        assert study.trials[t].decision.payload["beta_sqrt"] == pytest.approx(beta_sqrt, rel=1e-9)
        assert ucb(study.trials[t].params)[0] >= ucb(grid).max() - 1e-7


# -- the widening in action --


@QUIET
@pytest.mark.parametrize("estimator", ["regret_bound", "one_step"])
@pytest.mark.parametrize("estimation", [None, MAP(), MAP(combine="scale")], ids=str)
def test_scalings_never_fall_and_the_estimate_meets_the_reference(
    estimator: Any, estimation: Any
) -> None:
    study = run(
        nr.AdaptiveGPUCB.paper(estimator=estimator, anchored=True, estimation=estimation), 40
    )
    whys = [recorded(trial) for trial in study.trials[2:]]
    for key in ("h", "g", "b"):
        values = [getattr(why, key) for why in whys]
        assert values[0] == 1.0
        assert np.all(np.diff(values) >= 0), key
    assert whys[-1].h > 1.0
    if estimation is None:
        assert np.all(np.diff([why.norm_bound for why in whys]) >= 0)
        np.testing.assert_allclose(
            [why.lengthscales[0] for why in whys], [1 / why.g for why in whys]
        )
    for before, why in itertools.pairwise(whys):
        assert why.reference == pytest.approx(whys[0].estimate * why.t**0.9)
        assert why.estimate >= why.reference * (1 - 1e-9)
        if (
            why.h > before.h and estimator == "regret_bound"
        ):  # the one-step estimate jumps where the argmax does
            assert why.estimate == pytest.approx(why.reference, rel=5e-3)


@QUIET
def test_the_regret_bound_estimate_is_the_printed_formula() -> None:
    study = run(nr.AdaptiveGPUCB.paper(estimator="regret_bound", estimation=None), 30)
    for t in range(3, 30):
        why = recorded(study.trials[t])
        assert (
            why.h == 1.0
        )  # with p = t^0.9 it does not start for hundreds of steps, theory.md#anchored
        c_1 = 8 / math.log(1 + 1 / 0.0025)
        assert why.estimate == pytest.approx(
            math.sqrt(c_1 * (t - 1) * why.information_gain) * why.beta_sqrt, rel=1e-9
        )


@QUIET
def test_the_one_step_estimate_is_the_sum_of_its_steps() -> None:
    study = run(nr.AdaptiveGPUCB.paper(estimation=None), 40)
    total = 0.0
    for trial in study.trials[2:]:
        why = recorded(trial)
        total += 2 * why.beta_sqrt * why.std  # standardise=False: scale 1
        assert why.estimate == pytest.approx(total, rel=1e-9)
    assert study.trials[-1].decision.payload["h"] > 1


@QUIET
def test_the_printed_bound_first_leaves_one_late_at_moderate_noise() -> None:
    """theory.md#anchored: at t ≈ 294 for σ = .05 with the paper's settings and θ_0/g."""
    study = run(nr.AdaptiveGPUCB.paper(estimator="regret_bound", estimation=None), 340)
    first = next(trial.why.t for trial in study.trials[2:] if trial.decision.payload["h"] > 1)
    assert 265 <= first <= 325


@QUIET
def test_information_variants() -> None:
    """On one history: `printed` counts g twice, so it asks for no more widening than `ratio`;
    `exact` factorises anew.
    """
    start = nr.AdaptiveGPUCB.paper(estimator="regret_bound", anchored=True, estimation=None)
    assert isinstance(start.widening, ReferenceRegret)
    study = run(start, 45)
    h = {}
    for variant in ("ratio", "printed", "exact"):
        strategy = replace(start, widening=replace(start.widening, information=variant))
        again = nr.Study([(0, 1)], "maximize", strategy, 0, trials=study.trials)
        why = recorded(again.ask())
        h[variant] = why.h
        assert why.reference == pytest.approx(
            study.trials[2].decision.payload["reference_scale"] * 44**0.9
        )
    assert 1 < h["printed"] <= h["ratio"]
    assert h["exact"] > 1


@QUIET
def test_active_names_fit_or_schedule() -> None:
    paper = nr.AdaptiveGPUCB.paper(estimator="regret_bound")
    fits = {paper.explain(trial.decision).active for trial in run(paper, 12).trials[2:]}
    assert fits <= {ACTIVE["fit"], ACTIVE["schedule"]}
    assert ACTIVE["fit"] in fits
    paper = nr.AdaptiveGPUCB.paper(estimation=None)
    scheduled = run(paper, 6).trials[-1]
    assert paper.explain(scheduled.decision).active == ACTIVE["schedule"]
    assert scheduled.decision.payload["fitted_lengthscales"] is None


@QUIET
def test_map_shrinkage_is_charged_to_the_norm_where_asked() -> None:
    """theory.md#estimation: B_t = b·G^q·B_0 with G = ∏ θ_0/θ_t; the paper preset keeps b·g^d·B_0
    as printed in JMLR Alg. 1.
    """
    plain = nr.AdaptiveGPUCB.paper(estimator="regret_bound")
    why = recorded(run(plain, 12).trials[-1])
    assert why.norm_bound == pytest.approx(2.0 * why.b * why.g)
    charged = recorded(run(replace(plain, charge_estimate=True), 12).trials[-1])
    assert charged.norm_bound == pytest.approx(2.0 * charged.b / charged.lengthscales[0])


# -- settings --


def test_the_printed_width_warns_where_it_is_no_bound() -> None:
    with pytest.warns(GuaranteeWarning, match="not a confidence bound"):
        nr.AdaptiveGPUCB.paper()
    nr.AdaptiveGPUCB.paper(noise_std=0.4)  # no warning: warnings are errors here


def test_theorems_are_named_or_denied() -> None:
    assert nr.AdaptiveGPUCB(width=2.0, widening=NoWidening()).theorem.startswith("none")
    assert "no guarantee" in nr.AdaptiveGPUCB.paper(0.4).theorem


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"noise_std": 0.0}, "noise_std must be positive"),
        ({"noise_std": -1.0}, "noise_std"),
        ({"norm_bound": 0.0}, "norm_bound"),
        ({"norm_bound": -2.0}, "norm_bound"),
        ({"lengthscales": 0.0}, "lengthscales"),
        ({"lengthscales": (1.0, -1.0)}, "lengthscales"),
        ({"regulariser": 0.0}, "regulariser"),
        ({"delta": 0.0}, "delta"),
        ({"delta": 1.0}, "delta"),
        ({"width": "wide"}, "width is one of"),
        ({"width": -2.0}, "width"),
        ({"width": "mixture", "noise_std": None}, "noise_std"),
        ({"width": "mixture", "standardise": True}, "standardise"),
        ({"width": "chowdhury_gopalan"}, "1 \\+ 2/T"),
        ({"width": 2.0}, "finite maximum"),
        ({"norm_bound": None}, "norm_bound"),
        ({"norm_power": "loose"}, "norm_power"),
        ({"initial_design": "grid"}, "initial_design"),
        ({"initial_points": -1}, "initial_points"),
        ({"initial_points": 2.5}, "initial_points"),
        ({"offset": math.nan}, "offset"),
    ],
    ids=str,
)
def test_impossible_settings(bad: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        nr.AdaptiveGPUCB(**bad)


@QUIET
def test_without_settings_it_is_the_paper() -> None:
    assert nr.AdaptiveGPUCB() == nr.AdaptiveGPUCB.paper()


@QUIET
def test_lengthscales_must_fit_the_space() -> None:
    with pytest.raises(ConfigurationError, match="2 entries"):
        run(nr.AdaptiveGPUCB(lengthscales=(1.0, 1.0)), 5)
    assert nr.AdaptiveGPUCB(lengthscales=np.array([1.0, 2.0])).lengthscales == (1.0, 2.0)  # type: ignore[arg-type]


@pytest.mark.parametrize("width", ["abbasi_yadkori", "chowdhury_gopalan", "mixture"])
def test_every_width_runs(width: Any) -> None:
    strategy = nr.AdaptiveGPUCB(
        width=width,
        noise_std=0.1,
        regulariser=1.02,
        widening=ReferenceRegret("regret_bound", AnchoredReference()),
        estimation=None,
    )
    assert recorded(run(strategy, 8).trials[-1]).beta_sqrt > 1


@QUIET
def test_schedules_by_name_and_by_callable_run_in_memory() -> None:
    for widening in (
        Schedule("log", "log"),
        Schedule(lambda t: 1 + 0.1 * t, "constant"),
        Schedule(PowerGrowth(1.0, 0.3), "power"),
    ):
        why = recorded(run(nr.AdaptiveGPUCB(widening=widening), 8).trials[-1])
        assert why.g > 1
        json.dumps(vars(why), allow_nan=False)


@QUIET
def test_initial_points_are_two_to_the_d_and_an_option() -> None:
    for d, count in ((1, 2), (2, 4), (4, 16), (5, 20), (50, 200)):
        study = nr.Study([(0, 1)] * d, "maximize", strategy=nr.AdaptiveGPUCB())
        rng = np.random.default_rng(0)
        for x in rng.random((count - 1, d)):
            study.add(x, float(x[0]))
        assert study.ask().decision.source == "initial"
    few = nr.AdaptiveGPUCB(initial_points=0)
    assert [t.decision.source for t in run(few, 3).trials] == ["initial", "model", "model"]


def test_srinivas_width_is_that_of_a_growing_ball() -> None:
    """The extra ln t² under the root is B_t = B_0·√(1 + ln t²), query for query; the width
    without it asks elsewhere.
    """
    fixed: dict[str, Any] = {"lengthscales": 0.2, "norm_bound": 0.3, "noise_std": 0.05}
    grown = Schedule("constant", lambda t: math.sqrt(1 + 2 * math.log(max(t, 1))))
    by_ball = nr.AdaptiveGPUCB(**fixed, width="mixture", widening=grown, estimation=None)
    studies = [
        run(each, 25)
        for each in (
            nr.GPUCB(**fixed, width="srinivas"),
            by_ball,
            nr.GPUCB(**fixed, width="mixture"),
        )
    ]
    srinivas, ball, plain = ([tuple(t.params) for t in each.trials] for each in studies)
    assert srinivas == ball
    assert srinivas != plain
    decisions = [recorded(t) for t in studies[0].trials[2:]]
    for t, decided in enumerate(decisions, start=1):
        assert decided.norm_bound == pytest.approx(0.3 * math.sqrt(1 + 2 * math.log(t)))
        squared = decided.norm_bound**2 + 2 * decided.information_gain + 2 * math.log(10)
        assert decided.beta_sqrt == pytest.approx(math.sqrt(squared))
        assert decided.proved
    assert "√(1 + ln t²)" in nr.GPUCB(**fixed, width="srinivas").theorem
