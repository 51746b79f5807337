"""Values that plug into the default: each against a naive version, on data made for it, and through
a stored study and back.
"""

import itertools
import math
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret.errors import ConfigurationError
from noregret.extensions import Additive, Categorical, Smoothness, Sparse, Warping
from noregret.extensions.additive import prior_of
from noregret.extensions.categorical import product_kernel
from noregret.extensions.warping import ShapePrior, Warped, WarpedEvidence
from noregret.gp import HalfCauchy, LogNormal, Matern, SquaredExponential, covariance
from noregret.space import Array, Inputs
from noregret.storage.codec import from_json, to_json
from noregret.strategies import FitRequest
from noregret.strategies.data import standardise_robustly
from noregret.strategies.insured import ESTIMATION, KERNEL
from noregret.strategies.surrogate import last_memory, log_posterior_at, previous_fit
from noregret.trials import history_of
from tests.naive import numeric_gradient

MODELS: list[Any] = [Additive(), Categorical(), Smoothness(), Sparse(), Warping()]
BOX = {"x": nr.Float(0, 1), "y": nr.Float(0, 1), "z": nr.Float(0, 1)}
MIXED = {"x": nr.Float(0, 1), "n": nr.Int(1, 9), "c": nr.Choice(["a", "b", "c"])}


def asked(space: Any, f: Any, n: int, seed: int = 0) -> FitRequest:
    """What a model is asked after n random points."""
    study = nr.Study(space, "maximize", seed=seed)
    rng = np.random.default_rng(seed)
    for _ in range(n):
        params = study.space.decode(study.space.snap(rng.random((1, study.space.dimension)))[0])
        study.add(params, f(params))
    return question_of(study)


def question_of(study: nr.Study) -> FitRequest:
    history = history_of(
        study.trials, lambda t: study.space.encode(t.params), study.space.dimension, 1.0
    )
    framed = standardise_robustly(history, study.space, None, compress=False)
    previous = previous_fit(history)
    return FitRequest(
        framed,
        Inputs(study.space),
        ESTIMATION,
        KERNEL,
        previous,
        last_memory(history),
        np.random.default_rng(1),
    )


@pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("space", [BOX, MIXED], ids=["box", "mixed"])
def test_each_runs_in_the_default_and_can_be_derived_again(model: Any, space: Any) -> None:
    def value(params: Any) -> float:
        return -sum((float(v) - 0.4) ** 2 for v in params.values() if not isinstance(v, str))

    points = []
    for _ in range(2):
        study = nr.Study(space, "maximize", strategy=nr.InsuredGPUCB(surrogate=model), seed=3)
        study.run(value, trials=11)
        points.append([trial.params for trial in study.trials])
    assert points[0] == points[1]
    assert study.belief() is not None
    stored = from_json(to_json(study.strategy))
    assert stored == study.strategy
    assert "#leash" in stored.theorem  # any rule with patrols has it


def test_other_things_are_no_models() -> None:
    for wrong in (Warping, 3, Matern(2.5)):
        with pytest.raises(ConfigurationError, match="how f is modelled"):
            nr.InsuredGPUCB(surrogate=wrong)  # type: ignore[arg-type]
    mistakes: list[Any] = [
        lambda: Warping(0.0),
        lambda: Additive(joins=-1),
        lambda: Additive(margin=-1.0),
        lambda: Smoothness((Matern(0.5),)),
        lambda: Smoothness(margin=-1.0),
        lambda: HalfCauchy(0.0),
    ]
    for make in mistakes:
        with pytest.raises(ConfigurationError):
            make()


# -- smoothness --


def test_the_smoothness_is_that_of_the_data() -> None:
    """Draws of each process: the right kernel, or none better by the margin."""
    grid = np.linspace(0, 1, 45)[:, None]
    for kernel, wanted in ((Matern(0.5), {0.5, 1.5}), (SquaredExponential(), {math.inf, 2.5})):
        chosen = []
        for seed in range(4):
            rng = np.random.default_rng(seed)
            K = covariance(kernel, np.array([0.3]), grid, grid) + 1e-8 * np.eye(len(grid))
            values = np.linalg.cholesky(K) @ rng.standard_normal(len(grid))
            study = nr.Study([(0, 1)], "maximize", seed=seed)
            for x, y in zip(grid, values, strict=True):
                study.add([float(x[0])], float(y))
            kind = Smoothness(margin=0.0).fit(question_of(study)).kernel
            chosen.append(kind.nu if isinstance(kind, Matern) else math.inf)
        assert sum(each in wanted for each in chosen) >= 3, chosen


def test_in_doubt_the_rougher_one() -> None:
    request = asked([(0, 1)], lambda x: float(x[0]), 4)  # says nothing of its smoothness
    assert Smoothness(margin=50.0).fit(request).kernel == Matern(0.5)
    best = Smoothness(margin=0.0).fit(request)
    scores = []
    for kernel in Smoothness().kernels:
        alone = Smoothness((kernel, kernel), margin=0.0).fit(request)
        scores.append(log_posterior_at(request.evidence(kernel), alone.fit, np.array([0])))
    assert best.kernel == Smoothness().kernels[int(np.argmax(scores))]


# -- warping --


def test_the_posterior_of_the_shapes_and_its_gradient() -> None:
    request = asked(MIXED, lambda p: math.log(0.02 + p["x"]) + p["n"] * 0.1, 14)
    inputs = request.inputs
    bends = np.flatnonzero(~inputs.of_choices)
    prior = ShapePrior(request.rule.prior, 3, 0.75)
    evidence = WarpedEvidence.of(request.evidence(KERNEL, prior), bends)
    assert len(bends) == 2  # the choice is not bent
    assert evidence.dimension == 3 + 4
    phi = np.concatenate([np.log([0.5, 0.8, 1.2]), [0.3, -0.2, 0.1, 0.4], [math.log(0.05)]])
    value, gradient = evidence.log_posterior(phi, jacobian=False)
    numeric = numeric_gradient(lambda p: evidence.log_posterior(p, jacobian=False)[0], phi)
    np.testing.assert_allclose(gradient, numeric, rtol=2e-4, atol=1e-4)
    flat = phi.copy()
    flat[3:7] = 0.0  # no bend: the posterior of the plain model
    plain = request.evidence(KERNEL).log_posterior(flat[[0, 1, 2, 7]], jacobian=False)[0]
    assert evidence.log_posterior(flat, jacobian=False)[0] == pytest.approx(plain, rel=1e-9)
    assert value != pytest.approx(plain)


def test_a_function_that_changes_at_one_end_is_bent_there() -> None:
    request = asked([(0, 1)], lambda x: math.sin(12 * x[0] ** 0.25), 40)
    modelled = Warping().fit(request)
    kernel = modelled.kernel
    assert isinstance(kernel, Warped)
    slope = kernel.slope(np.array([[0.02], [0.9]]))[:, 0]
    assert slope[0] > 3 * slope[1]  # more room where more happens
    straight = asked([(0, 1)], lambda x: math.sin(6 * x[0]), 40)
    bent = Warping().fit(straight).kernel
    assert isinstance(bent, Warped)
    middle = bent.bent(np.array([[0.5]]))[0, 0]
    assert abs(middle - 0.5) < 0.2


# -- structure --


def test_groups_are_those_of_the_function() -> None:
    """x·y together and z apart, against all partitions by brute force of the same score."""

    def f(p: Any) -> float:
        return math.sin(7 * p["x"] * p["y"]) + math.cos(5 * p["z"])

    modelled = Additive(margin=0.0).fit(asked(BOX, f, 60))
    groups = {tuple(group) for group in modelled.memory["groups"]}
    assert groups == {(0, 1), (2,)}


def test_a_function_of_all_inputs_has_one_group() -> None:
    def f(p: Any) -> float:
        return math.sin(9 * (p["x"] + 0.3) * (p["y"] + 0.4) * (p["z"] + 0.5))

    assert Additive().fit(asked(BOX, f, 50)).memory["groups"] == [[0, 1, 2]]


def test_ten_inputs_of_their_own() -> None:
    space = {f"x{i}": nr.Float(0, 1) for i in range(6)}
    request = asked(space, lambda p: sum(math.sin(6 * v + i) for i, v in enumerate(p.values())), 60)
    groups = Additive().fit(request).memory["groups"]
    assert max(len(group) for group in groups) <= 2


def test_a_group_is_a_space_of_its_own() -> None:
    """Lengthscales of a group are expected as in a space of its size."""
    space = {f"x{i}": nr.Float(0, 1) for i in range(6)}
    request = asked(space, lambda p: sum(math.sin(9 * v) for v in p.values()), 40)
    log_value = np.random.default_rng(1).normal(0.0, 1.0, 6)
    prior = prior_of(request, ((0, 1, 2, 3), (4,), (5,)))
    value, gradient = prior.log_density(log_value, 6)
    four, one = (LogNormal(math.sqrt(2) + 0.5 * math.log(size), math.sqrt(3)) for size in (4, 1))
    parts = four.log_density(log_value[:4], 6)[0] + one.log_density(log_value[4:], 6)[0]
    assert value == pytest.approx(parts)
    numeric = numeric_gradient(lambda v: prior.log_density(v, 6)[0], log_value)
    np.testing.assert_allclose(gradient, numeric, rtol=1e-4, atol=1e-5)


def test_sums_stay_sums_and_others_are_compressed() -> None:
    study = nr.Study(BOX, "maximize", strategy=nr.InsuredGPUCB(surrogate=Additive()), seed=1)
    plain = nr.Study(BOX, "maximize", seed=1)
    for each in (study, plain):
        each.run(lambda p: -100.0 if p["x"] < 0.5 else p["y"], trials=12)
    assert study.trials[-1].decision.payload["compression"] == []
    assert len(plain.trials[-1].decision.payload["compression"]) == 1


def test_options_are_alike_whichever_two_they_are() -> None:
    """Typed out: Matérn of the numbers times e^(−1/θ²) where the options differ."""
    study = nr.Study(MIXED, "maximize")
    inputs = Inputs(study.space)
    kernel = product_kernel(KERNEL, inputs)
    theta = np.where(inputs.of_choices, 0.8, 0.5)
    params = [
        {"x": x, "n": n, "c": c}
        for x, (n, c) in itertools.product((0.1, 0.7), ((2, "a"), (2, "b"), (7, "c")))
    ]
    X: Array = np.array([study.space.encode(each) for each in params])
    K = covariance(kernel, theta, X, X)
    numbers = np.flatnonzero(~inputs.of_choices)
    for i, j in itertools.product(range(6), range(6)):
        z = math.sqrt(5 * sum(((X[i, k] - X[j, k]) / 0.5) ** 2 for k in numbers))
        expected = (1 + z + z**2 / 3) * math.exp(-z)
        if params[i]["c"] != params[j]["c"]:
            at = np.flatnonzero(inputs.of_choices)
            gap = float(np.sum((X[i, at] - X[j, at]) ** 2)) / 2
            expected *= math.exp(-gap / 0.8**2)
        assert K[i, j] == pytest.approx(expected)
    assert product_kernel(KERNEL, Inputs(nr.Study(BOX, "maximize").space)) == KERNEL


# -- sparsity --


def test_the_sparse_prior_and_its_gradient() -> None:
    prior, rng = HalfCauchy(0.1), np.random.default_rng(0)
    for _ in range(5):
        log_value = rng.normal(1.0, 1.0, 6)
        value, gradient = prior.log_density(log_value, 6)
        rho = [1 / math.exp(each) ** 2 for each in log_value]
        expected = [math.log(2 / (math.pi * 0.1 * (1 + (each / 0.1) ** 2))) for each in rho]
        none = 6 * math.log(2 / (math.pi * 0.1))  # the constant that is left out
        assert value == pytest.approx(sum(expected) - none, rel=1e-9)
        numeric = numeric_gradient(lambda v: prior.log_density(v, 6)[0], log_value)
        np.testing.assert_allclose(gradient, numeric, rtol=1e-4, atol=1e-5)
    drawn = 1 / prior.draw(rng, 4000, 3) ** 2
    assert 0.09 < np.median(drawn) < 0.11  # half of a half-Cauchy lies below its scale
    assert prior.center(3) == pytest.approx(0.1**-0.5)


def test_inputs_that_do_nothing_get_long_lengthscales() -> None:
    space = {f"x{i}": nr.Float(0, 1) for i in range(12)}
    request = asked(space, lambda p: math.sin(5 * p["x0"]) + (p["x1"] - 0.4) ** 2, 50)
    theta = Sparse().fit(request).fit.lengthscales
    assert theta[2:].min() > 2 * theta[:2].max()
