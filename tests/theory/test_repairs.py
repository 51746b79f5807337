"""What an audit found wrong, each as a test by the public interface. Beside each: why it failed on
the tree it was written on.
"""

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret.gp import SMALLEST_NOISE_VAR, Matern, SquaredExponential
from noregret.rkhs import confidence
from noregret.testing.problems import RKHSFunction, rkhs_sample
from tests.recorded import recorded

ROOT = Path(__file__).parents[2]
GRID = np.linspace(0, 1, 101)[:, None]


def told(
    strategy: Any, f: Any, n: int, seed: int = 0, noise: float = 0.1, **space: Any
) -> nr.Study:
    """A study with n values."""
    rng = np.random.default_rng([seed, 77])
    study = nr.Study([(0, 1)], space.pop("goal", "maximize"), strategy, seed, **space)
    study.run(lambda x: float(f(np.asarray(x))) + noise * float(rng.standard_normal()), n)
    return study


def known(**changes: Any) -> nr.GPUCB:
    settings: dict[str, Any] = {"lengthscales": 0.2, "norm_bound": 2.0, "noise_std": 0.1}
    return nr.GPUCB(**{**settings, "width": "mixture", **changes})


# -- 1. certificates with points under way --


# FAILS: step.py conditions the belief on pending points too; 4.36, 1.14, .48 with 0, 2, 4 of them
def test_1_points_under_way_do_not_narrow_a_certificate() -> None:
    study = told(known(), rkhs_sample(1, lengthscale=0.2, norm=2.0), 6)
    before, band = study.certificate().regret_bound, study.belief()
    study.ask(4)
    after = study.belief()
    assert band is not None
    assert after is not None
    assert study.certificate().regret_bound == pytest.approx(before)
    np.testing.assert_allclose(after.band(GRID), band.band(GRID), atol=1e-9)


# FAILS: the width is multiplied by exp I(pending), 888 with two under way
def test_1_nor_widen_that_of_the_rigorous_preset() -> None:
    study = told(nr.AdaptiveGPUCB.rigorous(0.1, norm_bound=2.0), rkhs_sample(1, lengthscale=0.5), 6)
    before = study.certificate().regret_bound
    study.ask(2)
    assert study.certificate().regret_bound == pytest.approx(before)


# FAILS in most of the studies, by a factor of up to 5
def test_1_no_look_of_four_workers_holds_a_false_certificate() -> None:
    false = 0
    for seed in range(6):
        f = rkhs_sample(seed, lengthscale=0.2, norm=4.0)
        strategy = known(lengthscales=0.2, norm_bound=4.0, noise_std=0.02)
        rng, study = (
            np.random.default_rng(seed),
            nr.Study([(0, 1)], "maximize", strategy=strategy, seed=seed),
        )
        under_way: list[nr.Trial] = []
        wrong = False
        for _ in range(12):
            under_way.append(study.ask())
            if len(under_way) == 4:
                trial = under_way.pop(0)
                value = float(f(np.asarray(trial.params)))
                study.tell(trial, value + 0.02 * float(rng.standard_normal()))
                found = study.certificate()
                regret = f.maximum - float(f(np.asarray(found.params)))
                wrong |= regret > found.regret_bound + 1e-9
        false += wrong
    assert false == 0  # at nominal 90 % one of six could be; the bands are far on the safe side


# -- 2. offset when minimising --


# FAILS when minimising: history.py flips the sign of the values, frame.py not that of the offset
@pytest.mark.parametrize("goal", ["maximize", "minimize"])
def test_2_the_offset_is_in_the_values_units_for_both_goals(goal: str) -> None:
    f, sign = rkhs_sample(0, lengthscale=0.1, norm=1.5), 1.0 if goal == "maximize" else -1.0
    study = told(known(offset=5.0, lengthscales=0.1), lambda x: 5.0 + f(x), 3, goal=goal)
    belief = study.belief()
    assert belief is not None
    lower, upper = belief.band(GRID)  # of the maximised objective
    truth = sign * (5.0 + f(GRID))
    assert np.all((lower <= truth) & (truth <= upper))


# -- 3. noise told with a value --


def with_told_noise(strategy: Any, noise_std: float | None) -> nr.Study:
    study = nr.Study([(0, 1)], "maximize", strategy=strategy)
    for x in (0.1, 0.3, 0.5, 0.7, 0.9):
        study.add([x], float(np.sin(5 * x)), noise_std)
    return study


# FAILS: a told noise below R narrows the band
def test_3_a_told_noise_below_the_bound_does_not_narrow_the_rigorous_band() -> None:
    strategy = nr.AdaptiveGPUCB.rigorous(0.1, norm_bound=2.0, lengthscales=0.5)
    plain = with_told_noise(strategy, None).certificate().regret_bound
    try:
        study = with_told_noise(strategy, 0.001)
        found = study.certificate().regret_bound
    except nr.errors.NoRegretError:
        return  # refusing is as good
    assert found >= plain - 1e-9


# FAILS: the condition names noise_std only
def test_3_a_condition_says_that_told_noise_was_believed() -> None:
    condition = with_told_noise(known(), 0.05).certificate().condition
    assert re.search(r"told", condition)


# -- 4. Matérn with 2ν ≤ d --


# FAILS: "no sublinear regret bound is known", checks.py
@pytest.mark.parametrize(("nu", "d"), [(0.5, 1), (0.5, 3), (1.5, 3)])
def test_4_a_rough_matern_kernel_has_a_bound(nu: float, d: int) -> None:
    strategy = nr.AdaptiveGPUCB.rigorous(0.1, kernel=Matern(nu), initial_points=2)
    study = nr.Study([(0, 1)] * d, "maximize", strategy=strategy)
    for _ in range(3):
        study.tell(study.ask(), 0.1)


# -- 5. the class is captured --


# FAILS: cap 1 + 2 log(1 + t) keeps h below 85, which θ_0/θ = 5 in two inputs needs
def test_5_the_class_contains_f_in_two_inputs_after_forty_trials() -> None:
    f, noise = rkhs_sample(1, dimension=2, lengthscale=0.2, norm=3.0), 0.05
    rng = np.random.default_rng(1)
    strategy = nr.AdaptiveGPUCB.rigorous(noise, norm_bound=1.0, lengthscales=1.0)
    study = nr.Study([(0, 1), (0, 1)], "maximize", strategy=strategy, seed=1)
    study.run(lambda x: float(f(np.asarray(x))) + noise * float(rng.standard_normal()), 40)
    last = recorded(study.trials[-1])
    theta = np.array(last.lengthscales)
    assert last.norm_bound is not None
    assert np.all(theta < 0.2 * np.sqrt(2))  # above, f has no norm
    assert f.norm_at(theta) <= last.norm_bound * last.scale


# -- 6. examples that have a norm --


# FAILS: docs/strategies.md shows polynomials
@pytest.mark.parametrize("page", ["docs/strategies.md"])
def test_6_examples_of_the_rigorous_preset_are_no_polynomials(page: str) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    careful = [block for block in blocks if "rigorous(" in block]
    assert careful
    for block in careful:
        assert not re.search(r"\*\* ?2", block), "a polynomial lies in no squared exponential space"


# failed: a polynomial of no norm, and no number of trials was stated
@pytest.mark.parametrize("page", ["docs/strategies.md"])
def test_6_the_examples_stop_within_the_trials_that_the_page_states(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    stated = re.search(r"stops within (\d+) trials", text)
    assert stated is not None
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    block = next(block for block in blocks if "CertifiedWithin(0.3)" in block)
    found: dict[str, Any] = {}
    exec(block, found)
    assert found["study"].certificate().proved
    assert len(found["study"].trials) <= int(stated[1])
    for seed in range(4):  # and with the noise that it allows for
        rng = np.random.default_rng(seed)
        study = nr.Study([(0, 1)], "maximize", strategy=found["careful"], seed=seed)
        enough = nr.CertifiedWithin(0.3)
        while not enough(study):
            trial = study.ask()
            study.tell(trial, found["hill"](trial.params) + 0.05 * rng.standard_normal())
            assert len(study.trials) <= int(stated[1])


# -- 7. what a certificate is --


# the class of B = .2 cannot hold a hill of height 1.5, and the data show it
def test_7_a_certificate_says_when_its_condition_is_refuted() -> None:
    study = told(known(norm_bound=0.2, noise_std=0.02), one_bump(), 10, noise=0.02)
    found = study.certificate()
    assert found.refuted
    assert found.condition.startswith("refuted by the data")
    assert not nr.CertifiedWithin(1e6)(study)
    assert not told(known(noise_std=0.02), one_bump(), 10, noise=0.02).certificate().refuted


def one_bump() -> RKHSFunction:
    return RKHSFunction(SquaredExponential(), np.array([0.2]), np.array([[0.4]]), np.array([1.5]))


# FAILS: there is no such field
def test_7_a_certificate_says_whether_it_is_proved() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        proved = told(known(), one_bump(), 5).certificate()
        printed = told(known(width="paper"), one_bump(), 5).certificate()
        constant = told(nr.InsuredGPUCB(), one_bump(), 5).certificate()
    assert getattr(proved, "proved", None) is True
    assert getattr(printed, "proved", None) is False
    assert getattr(constant, "proved", None) is False


# passed as far as a grid could tell; now the bound is a cover's
def test_7_the_upper_end_of_a_certificate_is_nowhere_below_the_band() -> None:
    f = rkhs_sample(2, lengthscale=0.03, norm=1.0)
    study = told(known(lengthscales=0.03, norm_bound=1.0), f, 10)
    belief, found = study.belief(), study.certificate()
    assert belief is not None
    fine = np.linspace(0, 1, 20_001)[:, None]
    lower = belief.band(np.asarray(found.params)[None, :])[0][0]
    upper = min(float(belief.band(fine)[1].max()), 1.0)  # |f| ≤ ‖f‖
    assert found.regret_bound >= upper - lower - 1e-9
    assert not found.refuted


# FAILS: nothing of this is said
@pytest.mark.parametrize("word", ["fail", "offset", "delta", "told"])
def test_7_a_condition_names_everything_it_needs(word: str) -> None:
    condition = told(known(), one_bump(), 4).certificate().condition
    assert word in condition


# FAILS: the shortest candidate is chosen by the data, its band is that of one fixed kernel at δ/2
def test_7_the_certificate_of_lb_gp_ucb_pays_for_its_choice_of_candidate() -> None:
    strategy = nr.LBGPUCB(noise_std=0.1, norm_bound=1.0, lengthscales=1.0)
    study = told(strategy, one_bump(), 12)
    found = study.certificate()
    assert getattr(found, "proved", None) is False or "whichever candidate" in found.condition


# -- 8. two texts --


# FAILS: the text says that λ must be at least 1
def test_8_the_printed_width_is_valid_from_an_eighth_on() -> None:
    assert confidence.paper_is_valid(0.1, 1 / 8)
    assert not confidence.paper_is_valid(0.1, 0.12)
    text = confidence.paper.__doc__ or ""
    assert "1/8" in text
    assert "λ ≥ 1:" not in text


# FAILS: 1e-6, and it is 1e-8
def test_8_the_decision_on_jitter_names_the_smallest_noise() -> None:
    text = (ROOT / "docs/decisions/0002-gaussian-processes.md").read_text()
    assert f"{SMALLEST_NOISE_VAR:g}".replace("e-0", "e-") in text
