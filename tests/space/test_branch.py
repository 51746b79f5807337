"""Inputs that exist only for some options: points, their encoding, and studies with them."""

import itertools
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret.errors import SpaceError
from noregret.extensions import Categorical
from noregret.gp import Matern, covariance
from noregret.space import ActiveWhen, FixedInputs, Inputs
from noregret.storage.codec import from_json, to_json
from noregret.strategies import Branched
from noregret.strategies.surrogate import branch_kernel
from tests import naive


def space() -> nr.Space:
    return nr.Space(
        {
            "lr": nr.Float(0, 1),
            "model": nr.Branch(
                {
                    "svm": {"C": nr.Float(0.1, 10, log=True), "gamma": nr.Float(0, 4)},
                    "forest": {"trees": nr.Int(1, 9), "rule": nr.Choice(["gini", "entropy", "x"])},
                    "none": {},
                }
            ),
        }
    )


SVM = {"lr": 0.2, "model": "svm", "C": 1.5, "gamma": 3.0}
FOREST = {"lr": 0.2, "model": "forest", "trees": 7, "rule": "entropy"}
NONE = {"lr": 0.9, "model": "none"}


def test_a_branch_is_a_choice_and_parameters_that_do_not_always_exist() -> None:
    s = space()
    assert list(s.parameters) == ["lr", "model", "C", "gamma", "trees", "rule"]
    assert s.parameters["model"] == nr.Choice(["svm", "forest", "none"])
    assert s.branches[0] == ActiveWhen("C", "model", ("svm",))
    for point in (SVM, FOREST, NONE):
        whole = s.canonical(point)
        assert isinstance(whole, dict)
        assert s.active(whole) == point
        again = s.decode(s.encode(point))
        assert isinstance(again, dict)
        assert s.active(again) == pytest.approx(point)
        assert np.array_equal(s.snap(s.encode(point)[None, :])[0], s.encode(point))
    with pytest.raises(SpaceError, match="missing"):
        s.encode({"lr": 0.2, "model": "svm", "C": 1.0})  # gamma exists there
    with pytest.raises(SpaceError, match="unknown"):
        s.encode({**SVM, "other": 1})


def test_what_does_not_exist_makes_no_difference() -> None:
    s, rng = space(), np.random.default_rng(0)
    a = s.encode({**NONE, "C": 0.1, "trees": 9, "rule": "x"})
    np.testing.assert_array_equal(a, s.encode(NONE))
    U = s.snap(rng.random((200, s.dimension)))
    for u in U:
        params = s.decode(u)
        assert isinstance(params, dict)
        np.testing.assert_allclose(s.encode(s.active(params)), u, atol=1e-9)
        for row in s.jumps(u):
            np.testing.assert_array_equal(s.snap(row[None, :])[0], row)
    assert not s.continuous[2:4].any() or s.continuous[0]
    assert s.movable[[0, 4, 5]].all()  # lr, C, gamma


def test_a_finite_space_has_each_design_once() -> None:
    s = nr.Space({"m": nr.Branch({"a": {"n": nr.Int(1, 3)}, "b": {"k": nr.Int(1, 2)}, "c": {}})})
    every = s.enumeration()
    assert every is not None
    designs = {tuple(sorted(s.active(s.decode(u)).items())) for u in every}  # type: ignore[arg-type]
    assert len(every) == len(designs) == 3 + 2 + 1


def test_an_input_of_two_options_is_one() -> None:
    depth = nr.Int(1, 5)
    s = nr.Space({"m": nr.Branch({"a": {"depth": depth}, "b": {"depth": depth}, "c": {}})})
    assert s.branches == (ActiveWhen("depth", "m", ("a", "b")),)
    assert s.active({"m": "b", "depth": 2}) == {"m": "b", "depth": 2}
    assert s.active({"m": "c", "depth": 2}) == {"m": "c"}


def test_it_is_stored_and_read_again() -> None:
    s = space()
    again = from_json(to_json(s))
    assert again == s
    assert again.branches == s.branches
    np.testing.assert_array_equal(again.encode(NONE), s.encode(NONE))


def test_a_held_choice_decides() -> None:
    s = space()
    part = FixedInputs(s, {"model": "forest"})
    U = part.snap(np.random.default_rng(1).random((20, s.dimension)))
    for u in U:
        params = s.decode(u)
        assert isinstance(params, dict)
        assert params["model"] == "forest"
        assert params["gamma"] == pytest.approx(2.0)  # does not exist: the middle
    assert len({float(s.decode(u)["trees"]) for u in U}) > 2  # type: ignore[call-overload]


def test_the_kernel_is_a_sum_over_branches() -> None:
    """Typed out for all pairs of some points."""
    s, theta = space(), 0.6
    inputs = Inputs(s)
    assert not inputs.repeatable
    kernel = branch_kernel(Matern(2.5), inputs, 0.3)
    points = [SVM, {**SVM, "C": 5.0, "lr": 0.7}, FOREST, {**FOREST, "trees": 2}, NONE, {**NONE}]
    X = np.array([s.encode(each) for each in points])
    K = covariance(kernel, np.full(s.dimension, theta), X, X)
    assert np.linalg.eigvalsh(K).min() > -1e-9
    for i, j in itertools.product(range(6), range(6)):
        a, b = X[i], X[j]

        def m(at: Any, a: Any = a, b: Any = b) -> float:
            return naive.kernel_value("m", 2.5, np.full(len(at), theta), a[at], b[at])

        expected = m([0]) * 0.3
        if points[i]["model"] == points[j]["model"]:
            own = {"svm": [4, 5], "forest": [6, 7, 8, 9], "none": []}[str(points[i]["model"])]
            expected += m([0]) * 0.7 * (m(own) if own else 1.0)
        assert K[i, j] == pytest.approx(expected)
    plain = Inputs(nr.Space({"x": nr.Float(0, 1)}))
    assert branch_kernel(Matern(2.5), plain, 0.3) == Matern(2.5)


@pytest.mark.parametrize(
    "strategy",
    [
        nr.InsuredGPUCB(),
        nr.InsuredGPUCB(surrogate=Categorical()),
        nr.InsuredGPUCB(surrogate=Branched(0.5)),
        nr.AdaptiveGPUCB.rigorous(0.1, norm_bound=5.0),
        nr.LogEI(),
        nr.RandomSearch(),
        nr.AdaptiveThompson(),
    ],
    ids=lambda s: type(s).__name__,
)
def test_studies_run_and_find_the_branch(strategy: Any) -> None:
    s = space()

    def value(params: Any) -> float:
        active = s.active(params)
        if active["model"] == "svm":
            return 1.0 - (active["gamma"] - 3.0) ** 2 / 9
        return 0.2 * active["lr"]

    study = nr.Study(s, "maximize", strategy=strategy, seed=2)
    study.run(value, trials=16)
    for trial in study.trials:
        u = s.encode(trial.params)
        np.testing.assert_allclose(s.snap(u[None, :])[0], u, atol=1e-9)
    if isinstance(strategy, nr.InsuredGPUCB):
        assert study.best.params["model"] == "svm"


@pytest.mark.parametrize(
    "make",
    [
        lambda: nr.Branch({"a": {}}),
        lambda: nr.Branch({"a": {}, "b": 3}),  # type: ignore[dict-item]
        lambda: nr.Space({"m": nr.Branch({"a": {"x": nr.Int(1, 2)}, "b": {"x": nr.Int(1, 3)}})}),
        lambda: nr.Space({"m": nr.Branch({"a": {"m": nr.Int(1, 2)}, "b": {}})}),
        lambda: nr.Space(
            {"c": nr.Choice(["a", "b"]), "d": nr.Choice(["a", "b"])},
            branches=[ActiveWhen("c", "d", ("a",)), ActiveWhen("d", "c", ("a",))],
        ),
        lambda: nr.Space({"x": nr.Float(0, 1)}, branches=[ActiveWhen("x", "y", ("a",))]),
        lambda: nr.Space(
            {"x": nr.Float(0, 1), "c": nr.Choice(["a", "b"])},
            branches=[ActiveWhen("x", "c", ("z",))],
        ),
        lambda: nr.Space(
            {"x": nr.Float(0, 1), "c": nr.Choice(["a", "b"])}, branches=[ActiveWhen("x", "c", ())]
        ),
        lambda: nr.Space(
            {"x": nr.Float(0, 1), "c": nr.Choice(["a", "b"])},
            True,
            (),
            [ActiveWhen("x", "c", ("a",))],
        ),
        lambda: FixedInputs(space(), {"C": 1.0}),
        lambda: FixedInputs(space(), {"C": 1.0, "model": "none"}),
    ],
)
def test_mistakes(make: Any) -> None:
    with pytest.raises(SpaceError):
        make()
