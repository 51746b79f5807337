"""Branches inside branches, and constraints in a space with branches."""

import itertools
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret.errors import SpaceError
from noregret.gp import Matern, covariance
from noregret.space import ActiveWhen, FixedInputs, Inputs
from noregret.storage.codec import from_json, to_json
from noregret.strategies import random_points
from noregret.strategies.surrogate import branch_kernel
from tests import naive

RBF = {"lr": 0.2, "model": "svm", "C": 0.3, "kernel": "rbf", "gamma": 0.9}
POLY = {"lr": 0.6, "model": "svm", "C": 0.3, "kernel": "poly", "degree": 4}
LINEAR = {"lr": 0.1, "model": "svm", "C": 0.8, "kernel": "linear"}
FOREST = {"lr": 0.2, "model": "forest", "trees": 7}
POINTS: list[dict[str, Any]] = [RBF, {**RBF, "gamma": 0.1}, POLY, LINEAR, FOREST]


def nested(**more: Any) -> nr.Space:
    kernel = nr.Branch(
        {"rbf": {"gamma": nr.Float(0, 1)}, "poly": {"degree": nr.Int(1, 5)}, "linear": {}}
    )
    model = nr.Branch(
        {"svm": {"C": nr.Float(0, 1), "kernel": kernel}, "forest": {"trees": nr.Int(1, 9)}}
    )
    return nr.Space({"lr": nr.Float(0, 1), "model": model}, **more)


def test_a_branch_inside_a_branch() -> None:
    s = nested()
    assert list(s.parameters) == ["lr", "model", "C", "kernel", "gamma", "degree", "trees"]
    assert ActiveWhen("kernel", "model", ("svm",)) in s.branches
    assert ActiveWhen("gamma", "kernel", ("rbf",)) in s.branches
    for point in POINTS:
        whole = s.canonical(point)
        assert isinstance(whole, dict)
        assert s.active(whole) == point
        np.testing.assert_array_equal(s.encode(whole), s.encode(point))
    # what is said of a kernel that does not exist makes no difference, even an option's own input
    np.testing.assert_array_equal(
        s.encode({**FOREST, "kernel": "rbf", "gamma": 0.2, "C": 0.9}), s.encode(FOREST)
    )
    assert from_json(to_json(s)) == s
    for u in s.snap(np.random.default_rng(0).random((100, s.dimension))):
        params = s.decode(u)
        assert isinstance(params, dict)
        active = s.active(params)
        assert ("kernel" in active) == (active["model"] == "svm")
        assert ("gamma" in active) == (active.get("kernel") == "rbf")
        np.testing.assert_allclose(s.encode(active), u, atol=1e-9)
    with pytest.raises(SpaceError, match="missing"):
        s.encode({key: value for key, value in RBF.items() if key != "gamma"})


def test_the_same_branch_in_two_options_is_one() -> None:
    def scale() -> nr.Branch:
        return nr.Branch({"unit": {"power": nr.Float(0, 1)}, "none": {}})

    s = nr.Space({"m": nr.Branch({"a": {"scale": scale()}, "b": {"scale": scale()}, "c": {}})})
    assert s.branches == (
        ActiveWhen("scale", "m", ("a", "b")),
        ActiveWhen("power", "scale", ("unit",)),
    )
    every = nr.Space(
        {"m": nr.Branch({"a": {"n": nr.Branch({"c": {"k": nr.Int(1, 3)}, "d": {}})}, "b": {}})}
    ).enumeration()
    assert every is not None
    assert len(every) == 3 + 1 + 1


def test_the_kernel_of_nested_branches_is_a_product_within_a_sum() -> None:
    """Typed out for all pairs of some points."""
    s, theta, shared = nested(), 0.6, 0.3
    kernel = branch_kernel(Matern(2.5), Inputs(s), shared)
    X = np.array([s.encode(each) for each in POINTS])
    columns = s.slices
    K = covariance(kernel, np.full(s.dimension, theta), X, X)
    assert np.linalg.eigvalsh(K).min() > -1e-9
    for i, j in itertools.product(range(len(POINTS)), repeat=2):
        p, q, a, b = POINTS[i], POINTS[j], X[i], X[j]

        def m(*names: str, a: Any = a, b: Any = b) -> float:
            at = [c for name in names for c in range(columns[name].start, columns[name].stop)]
            return naive.kernel_value("m", 2.5, np.full(len(at), theta), a[at], b[at])

        inner = shared
        if p.get("kernel") == q.get("kernel"):
            inner += (1 - shared) * m("gamma", "degree")
        expected = shared
        if p["model"] == q["model"]:
            expected += (1 - shared) * m("C", "trees") * inner
        assert K[i, j] == pytest.approx(m("lr") * expected)


def limited() -> nr.Space:
    """In svm two shares of one whole, in forest a limit that the common input shares."""
    return nr.Space(
        {
            "lr": nr.Float(0, 1),
            "model": nr.Branch(
                {
                    "svm": {"a": nr.Float(0, 1), "b": nr.Float(0, 1), "c": nr.Float(0, 1)},
                    "forest": {"size": nr.Float(0, 1), "rule": nr.Choice(["gini", "x"])},
                }
            ),
            "cores": nr.Choice(["one", "two"]),
        },
        constraints=[
            nr.Linear({"a": 1, "b": 1, "c": 1}, equals=1.0),
            nr.Linear({"lr": 1, "size": 1}, at_most=0.8),
            nr.Forbidden({"cores": "two", "rule": "x"}),
            nr.Satisfies(lambda p: p["model"] == "forest" or p["a"] < 0.9),
        ],
    )


def obeys(active: dict[str, Any]) -> bool:
    if active["model"] == "svm":
        return abs(active["a"] + active["b"] + active["c"] - 1) < 1e-6 and active["a"] < 0.9
    return active["lr"] + active["size"] <= 0.8 + 1e-6 and (
        active["cores"] != "two" or active["rule"] != "x"
    )


def test_constraints_count_where_their_inputs_exist() -> None:
    s, rng = limited(), np.random.default_rng(3)
    far = {"svm": 0.0, "forest": 0.0}
    points = [*random_points(s, rng, 60), *s.snap(rng.random((60, s.dimension)))]
    for u in points:
        params = s.decode(u)
        assert isinstance(params, dict)
        active = s.active(params)
        assert obeys(active), active
        far[active["model"]] = max(far[active["model"]], active["lr"])
        np.testing.assert_allclose(s.snap(u[None, :])[0], u, atol=1e-9)
        for row in s.jumps(u):
            assert obeys(s.active(s.decode(row)))  # type: ignore[arg-type]
    assert far["svm"] > 0.9  # where size does not exist the limit that names it does not count
    assert far["forest"] <= 0.8 + 1e-6
    fine = {"lr": 0.9, "model": "svm", "a": 0.2, "b": 0.3, "c": 0.5, "cores": "two"}
    assert s.active(s.canonical(fine)) == fine  # type: ignore[arg-type]
    with pytest.raises(SpaceError, match=r"lr \+ size <= 0.8"):
        s.canonical({"lr": 0.9, "model": "forest", "size": 0.2, "rule": "gini", "cores": "one"})
    with pytest.raises(SpaceError, match=r"a \+ b \+ c = 1"):
        s.canonical({"lr": 0.9, "model": "svm", "a": 0.2, "b": 0.3, "c": 0.6, "cores": "two"})
    again = from_json(to_json(nested(constraints=[nr.Linear({"lr": 1, "C": 1}, at_most=1)])))
    assert again.constraints == (nr.Linear({"lr": 1, "C": 1}, at_most=1),)


def test_a_held_choice_decides_with_constraints_too() -> None:
    s = limited()
    part = FixedInputs(s, {"model": "svm", "a": 0.6})
    for u in part.snap(np.random.default_rng(1).random((20, s.dimension))):
        active = s.active(part.decode(u))  # type: ignore[arg-type]
        assert active["a"] == 0.6
        assert obeys(active)


@pytest.mark.parametrize(
    "strategy",
    [nr.InsuredGPUCB(), nr.AdaptiveGPUCB.rigorous(0.1, norm_bound=5.0), nr.LogEI()],
    ids=lambda s: type(s).__name__,
)
def test_studies_with_both(strategy: Any) -> None:
    s = limited()

    def value(params: Any) -> float:
        active = s.active(params)
        assert obeys(active)
        if active["model"] == "svm":
            return 1.0 - abs(active["b"] - 0.6) + 0.1 * active["lr"]
        return float(active["size"] * 0.3)

    study = nr.Study(s, "maximize", strategy=strategy, seed=2)
    study.run(value, trials=10)
    if isinstance(strategy, nr.InsuredGPUCB):
        assert study.best.params["model"] == "svm"
        assert study.certificate() is not None
        assert study.resolution().radius > 0
    assert study.replay().number is None  # every proposal is derived again from the rows
