"""Limits in the rigorous strategy: the optimistic set, all bands jointly, regret and violation
sublinear, infeasibility declared where it is so. theory.md#limits
"""

import math
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret import AdaptiveGPUCB, OutcomeAssumptions
from noregret.errors import ConfigurationError
from noregret.rkhs import RadiusBand
from noregret.strategies.rigorous import RadiusGPUCB
from noregret.strategies.rigorous_outcomes import margin_bands, may_be_feasible
from noregret.testing.problems import rkhs_sample

NOISE, THETA, NORM, LIMIT = 0.02, 0.3, 1.5, 0.1
XS = np.linspace(0, 1, 31)
LISTED = nr.Candidates([{"x": float(x)} for x in XS])


def strategy(**changed: Any) -> RadiusGPUCB:
    known: dict[str, Any] = {"norm_bound": NORM, "lengthscales": THETA}
    assumed = OutcomeAssumptions(NOISE, NORM, THETA, offset=0.0)
    return AdaptiveGPUCB.rigorous(NOISE, **known, outcomes={"g": assumed}, **changed)


def functions(seed: int) -> tuple[Any, Any]:
    return (
        rkhs_sample(seed, lengthscale=THETA, norm=NORM),
        rkhs_sample(seed + 100, lengthscale=THETA, norm=NORM),
    )


@cache
def played(seed: int, trials: int, limit: float = LIMIT, listed: bool = True) -> nr.Study:
    f, g = functions(seed)
    rng = np.random.default_rng([seed, 9])
    space: Any = LISTED if listed else {"x": nr.Float(0, 1)}
    study = nr.Study(space, "maximize", strategy(), seed, outcomes={"g": nr.AtMost(limit)})
    for _ in range(trials):
        trial = study.ask()
        x = np.array([trial.params["x"]])
        told = [float(h(x)) + NOISE * rng.uniform(-1, 1) for h in (f, g)]
        study.tell(trial, told[0], outcomes={"g": told[1]})
    return study


def truth(seed: int) -> tuple[Any, Any]:
    f, g = functions(seed)
    return np.asarray(f(XS[:, None])), np.asarray(g(XS[:, None]))


def test_the_point_is_the_best_of_what_may_be_feasible() -> None:
    """Naive: every point of a fine grid, filtered and compared."""
    study = played(1, 9, listed=False)
    for number in (4, 6, 8):
        history, rule = study._history(study.trials[:number]), study.strategy
        assert isinstance(rule, RadiusGPUCB)
        limits = margin_bands(rule, study.space, history)
        (each,) = limits
        assert each.strategy.delta == pytest.approx(0.05)  # δ shared by two bands
        trial = study.trials[number]
        x = study.space.encode(trial.params)
        assert may_be_feasible(limits, x[None, :])[0]
        fine = np.linspace(0, 1, 2001)[:, None]
        margin = each.strategy.offset + each.strategy.norm_bound * each.pending_band.upper(fine)
        band = replace(rule, delta=rule.share).estimated_class(study.space, history).band
        upper = band.with_pending(history.pending).upper(np.vstack([x[None, :], fine]))
        assert upper[0] >= upper[1:][margin >= 0].max() - 1e-4
        assert trial.decision.payload["rule"] == "optimistic"


def held(seeds: int, trials: int) -> int:
    """In how many studies all bands held at all looks: f and g, at all points of the list."""
    good, at = 0, np.array([LISTED.encode(row) for row in LISTED.rows])
    for seed in range(seeds):
        study, (f, g) = played(seed, trials), truth(seed)
        fine = True
        for n in range(4, trials + 1, 4):
            belief = study.strategy.belief(study.space, study._history(study.trials[:n]))
            assert belief is not None
            (lower, upper), (below, above) = belief.band(at), belief.outcomes[0].band(at)
            fine &= bool(np.all((lower <= f) & (f <= upper) & (below <= g) & (g <= above)))
        good += fine
    return good


def test_all_bands_hold_jointly() -> None:
    assert held(8, 12) == 8  # by the theorem in at least nine of ten


def test_a_tenth_of_the_width_does_not_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control."""
    real = RadiusBand._select

    def narrow(self: Any, each: Any) -> Any:
        return real(self, [(mean, 0.1 * std) for mean, std in each])

    held(8, 12)  # the studies are played with bands as they are
    monkeypatch.setattr(RadiusBand, "_select", narrow)
    assert held(8, 12) <= 2


def test_regret_and_violation_are_sublinear() -> None:
    """On draws from the class: the last third of the decisions costs less than half the first."""
    cost = np.zeros((2, 3))
    for seed in (1, 2):
        f, g = truth(seed)
        best = f[g <= LIMIT].max()
        for number, trial in enumerate(played(seed, 60).trials):
            i = int(np.argmin(np.abs(XS - trial.params["x"])))
            cost[0, number // 20] += max(best - f[i], 0.0)
            cost[1, number // 20] += max(g[i] - LIMIT, 0.0)
    assert np.all(cost[:, 2] < 0.5 * cost[:, 0])
    assert np.all(cost[:, 0] > 1.0)  # there was something to lose


def test_infeasibility_is_declared_where_it_is_so_and_only_there() -> None:
    for seed in range(2):
        lowest = float(truth(seed)[1].min())
        study = played(seed, 20, limit=lowest - 0.3)
        state = study.feasibility()
        assert state.state == "infeasible"
        assert study.best == state.closest
        assert "with probability" in state.condition
        assert study.result().certificate is None
        assert nr.Infeasible()(study)
        with pytest.raises(nr.NoRegretError, match="nothing keeps all limits"):
            study.certificate()
        assert study.ask().decision.payload["rule"] == "infeasible"
        assert played(seed, 20, limit=lowest + 0.02).feasibility().state != "infeasible"


def test_infeasibility_of_a_continuous_space_is_covered() -> None:
    lowest = float(truth(1)[1].min())
    assert played(1, 26, limit=lowest - 0.5, listed=False).feasibility().state == "infeasible"
    assert played(1, 9, listed=False).feasibility().state != "infeasible"


def test_the_certificate_is_against_the_best_feasible_point() -> None:
    for seed in (1, 2):
        f, g = truth(seed)
        best = f[g <= LIMIT].max()
        certificate = played(seed, 60).certificate()
        i = int(np.argmin(np.abs(XS - certificate.params["x"])))
        assert certificate.proved
        assert best - f[i] <= certificate.regret_bound < 1.0
        assert max(g[i] - LIMIT, 0.0) <= certificate.violations["g"]
        assert nr.CertifiedWithin(certificate.regret_bound)(played(seed, 60)) is (
            certificate.violations["g"] == 0
        )


def test_what_is_assumed_must_fit_the_study() -> None:
    with pytest.raises(ConfigurationError, match="nothing is assumed of the outcome 'h'"):
        nr.Study([(0, 1)], "maximize", strategy(), outcomes={"g": nr.AtMost(1), "h": nr.AtMost(1)})
    with pytest.raises(ConfigurationError, match=r"assumes something of \['g'\]"):
        nr.Study([(0, 1)], "maximize", strategy())
    with pytest.raises(ConfigurationError, match="what is assumed of each outcome"):
        AdaptiveGPUCB.rigorous(0.1, outcomes={"g": 0.2})  # type: ignore[dict-item]
    for wrong in ({"noise_bound": 0.0}, {"noise_bound": 0.1, "norm_bound": -1.0}):
        with pytest.raises(ConfigurationError, match="must be positive"):
            OutcomeAssumptions(**wrong)
    with pytest.raises(ConfigurationError, match="offset must be finite"):
        OutcomeAssumptions(0.1, offset=math.nan)


def test_a_study_goes_on_where_no_value_exists_yet() -> None:
    study = nr.Study([(0, 1)], "maximize", strategy(), outcomes={"g": nr.AtMost(-1.0)})
    for _ in range(6):
        study.tell(study.ask(), outcomes={"g": 0.5})
    assert study.feasibility().state == "unknown"
    assert [t.why.t for t in study.trials if t.decision.model is not None][-1] >= 3
    assert study.trials[-1].decision.payload["rule"] == "optimistic"
    assert study.belief() is None
    assert study.replay().number is None


@pytest.mark.parametrize("valued", [True, False])
def test_infeasibility_is_declared_without_a_value_too(valued: bool) -> None:
    assumed = {"g": OutcomeAssumptions(0.02, 1.5, 0.3, offset=0.0)}
    made = AdaptiveGPUCB.rigorous(
        0.02, 0.1, norm_bound=1.5, lengthscales=0.3, initial_points=2, outcomes=assumed
    )
    designs = nr.Candidates([{"x": float(x)} for x in np.linspace(0, 1, 31)])
    study = nr.Study(designs, "maximize", made, outcomes={"g": nr.AtMost(-0.3)})
    for _ in range(20):
        trial = study.ask()
        g = 0.3 + 0.4 * math.sin(5 * trial.params["x"]) ** 2
        study.tell(trial, 1.0 if valued else None, outcomes={"g": g})
    assert study.feasibility().state == "infeasible"
    assert study.ask().decision.payload["rule"] == "infeasible"


def test_withdrawn_points_are_left_alone_by_limits_too() -> None:
    strategy = RadiusGPUCB(
        0.05, lengthscales=0.5, outcomes={"c": nr.OutcomeAssumptions(0.05, lengthscales=0.5)}
    )
    study = nr.Study([(0.0, 1.0)], "maximize", strategy, outcomes={"c": nr.AtMost(0.3)}, seed=0)
    for _ in range(5):
        trial = study.ask()
        x = float(trial.params[0])
        study.tell(trial, 0.5 * np.sin(6 * x), outcomes={"c": x - 0.4})
    gone = [study.tell(study.ask(), state="withdrawn") for _ in range(2)]
    asked = study.ask()
    xs = [float(trial.params[0]) for trial in [*gone, asked]]
    assert np.abs(np.subtract.outer(xs, xs))[np.triu_indices(3, 1)].min() > 0.01
    history = study._history(study.trials[:-1])
    bands = margin_bands(strategy, study.space, history)
    low, high = bands[0].band.bounds(study.space.encode(asked.params)[None, :])
    recorded = asked.decision.payload["outcomes"][0]
    assert recorded["upper"] is not None
    assert recorded["lower"] is not None
    assert recorded["upper"] - recorded["lower"] == pytest.approx(float(high[0] - low[0]))
