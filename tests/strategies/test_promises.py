"""What each strategy promises: as a value, in its words, and in what it hands out."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret.errors import ConfigurationError
from noregret.gp.kernels import Matern, SquaredExponential
from noregret.rkhs.widening import NoWidening
from noregret.space import Array

pytestmark = pytest.mark.filterwarnings("ignore::noregret.errors.GuaranteeWarning")
Make = Callable[[], nr.strategies.Strategy]

PROVED: dict[str, Make] = {
    "gp-ucb with known lengthscales": lambda: nr.GPUCB(
        lengthscales=0.2, noise_std=0.1, width="mixture"
    ),
    "the same by another name": lambda: nr.AdaptiveGPUCB(
        lengthscales=0.2, width="mixture", widening=NoWidening(), estimation=None
    ),
    "the printed width where it holds": lambda: nr.GPUCB(
        lengthscales=0.2, noise_std=0.4, width="paper"
    ),
    "rigorous": lambda: nr.AdaptiveGPUCB.rigorous(0.1),
    "the paper's rule with a proof": lambda: nr.AdaptiveGPUCB.paper(0.1, width="radius"),
    "for a horizon": lambda: nr.GPUCB(
        0.2, noise_std=0.1, width="mixture", kernel=Matern(0.5), horizon=50
    ),
}
NOT_PROVED: dict[str, Make] = {
    "estimated lengthscales": lambda: nr.GPUCB(noise_std=0.1, width="mixture"),
    "constant width": lambda: nr.GPUCB(lengthscales=0.2),
    "the printed width where it fails": lambda: nr.GPUCB(
        lengthscales=0.2, noise_std=0.05, width="paper"
    ),
    "paper": nr.AdaptiveGPUCB.paper,
    "paper with much noise": lambda: nr.AdaptiveGPUCB.paper(0.4),
    "a class that follows the data": lambda: nr.AdaptiveGPUCB(width="mixture"),
    "lb-gp-ucb": lambda: nr.LBGPUCB(0.1),
    "default": nr.InsuredGPUCB,
    "minimum uncertainty": lambda: nr.MinimumUncertainty(noise_std=0.1, width="mixture"),
    "marginal": nr.MarginalGPUCB,
    "log-ei": nr.LogEI,
}


def studied(strategy: nr.strategies.Strategy) -> nr.Study:
    study = nr.Study([(0, 1)], "maximize", strategy=strategy)
    for x in np.linspace(0, 1, 6):
        study.add([x], float(np.sin(5 * x)))
    return study


@pytest.mark.parametrize("name", PROVED)
def test_what_is_proved_says_so_everywhere(name: str) -> None:
    strategy = PROVED[name]()
    study = studied(strategy)
    certificate, belief = study.certificate(), study.belief()
    assert belief is not None
    assert strategy.proved
    assert belief.proved
    assert certificate.proved
    assert study.ask().decision.payload["proved"]
    assert "not proved" not in certificate.condition
    assert certificate.condition.startswith("with probability at least 0.9 if f")
    assert not strategy.theorem.startswith("none")


@pytest.mark.parametrize("name", NOT_PROVED)
def test_what_is_not_proved_says_so_everywhere(name: str) -> None:
    strategy = NOT_PROVED[name]()
    study = studied(strategy)
    certificate, belief = study.certificate(), study.belief()
    assert belief is not None
    assert not strategy.proved
    assert not belief.proved
    assert not certificate.proved
    assert not study.ask().decision.payload["proved"]
    assert certificate.condition.startswith(
        ("not proved", "none", "a guess by the data, not proved")
    )


def test_every_row_of_the_table_of_promises_has_its_tests() -> None:
    root = Path(__file__).parents[2]
    page = (root / "docs" / "theory.md").read_text(encoding="utf-8")
    table = page.split("{#promises}")[1].split("\n## ")[0]
    rows = [line for line in table.splitlines() if line.startswith("|")][2:]
    assert len(rows) >= 15
    for row in rows:
        named = re.findall(r"`(\w+/test_\w+)` \|$", row)
        assert named, row
        assert (root / "tests" / f"{named[0]}.py").exists(), row


def test_random_search_promises_nothing() -> None:
    assert not nr.RandomSearch().proved
    assert studied(nr.RandomSearch()).belief() is None


class NoKernel:
    decreasing_spectrum = True


@pytest.mark.parametrize(
    "make",
    [
        lambda kernel: nr.AdaptiveGPUCB(kernel=kernel),
        lambda kernel: nr.AdaptiveGPUCB.rigorous(0.1, kernel=kernel),
        lambda kernel: nr.GPUCB(kernel=kernel),
        lambda kernel: nr.LBGPUCB(0.1, kernel=kernel),
        lambda kernel: nr.MarginalGPUCB(kernel=kernel),
        lambda kernel: nr.MinimumUncertainty(kernel=kernel),
    ],
    ids=["adaptive", "rigorous", "gp-ucb", "lb-gp-ucb", "marginal", "minimum"],
)
@pytest.mark.parametrize(
    "kernel",
    [SquaredExponential, NoKernel(), "matern", 2.5, None],
    ids=["a class", "half of one", "a name", "a number", "none"],
)
def test_a_wrong_kernel_is_refused_where_it_is_given(make: Any, kernel: Any) -> None:
    with pytest.raises(ConfigurationError, match="kernel must be a value such as"):
        make(kernel)
    assert make(SquaredExponential()).kernel == SquaredExponential()


def test_a_width_below_its_regulariser_says_so() -> None:
    """Chowdhury and Gopalan's width is proved for λ ≥ 1; below, text and flag agree."""
    narrow = nr.GPUCB(0.3, noise_std=0.1, width="chowdhury_gopalan", regulariser=0.5)
    wide = nr.GPUCB(0.3, noise_std=0.1, width="chowdhury_gopalan", regulariser=1.1)
    assert (narrow.proved, wide.proved) == (False, True)
    assert narrow.theorem.startswith("none")
    assert not wide.theorem.startswith("none")


class Own:
    """A kernel of which nothing is known."""

    decreasing_spectrum = True

    def value(self, sq: Array) -> Array:
        return 1 / (1 + sq)

    def slope(self, sq: Array) -> Array:
        return -1 / (1 + sq) ** 2

    def capacity_exponent(self, dimension: int, printed: bool = False) -> float:
        return float(dimension)


@pytest.mark.parametrize(
    ("kernel", "inputs", "sublinear"),
    [
        (SquaredExponential(), 9, True),
        (Matern(2.5), 4, True),
        (Matern(2.5), 5, False),
        (Matern(1.5), 2, True),
        (Matern(1.5), 3, False),
        (Matern(0.5), 1, False),
        (Own(), 1, False),
    ],
)
def test_regret_is_claimed_only_where_it_is_sublinear(
    kernel: Any, inputs: int, sublinear: bool
) -> None:
    """√T·γ_T with γ_T = T^(d/(2ν + d)): the power is below 1 only if 2ν > d. The band holds for
    every kernel, and decides what is called proved.
    """
    theta = (0.3,) * inputs
    known = nr.GPUCB(theta, kernel=kernel, width="mixture", noise_std=0.1)
    fixed = nr.AdaptiveGPUCB(
        kernel=kernel,
        lengthscales=theta,
        width="mixture",
        widening=NoWidening(),
        estimation=None,
    )
    if isinstance(kernel, Matern):
        assert sublinear == (0.5 + inputs / (2 * kernel.nu + inputs) < 1)
    for strategy in (known, fixed):
        assert strategy.proved
        assert "the band contains f" in strategy.theorem
        assert ("regret is then sublinear" in strategy.theorem) == sublinear
        assert ("Of the regret nothing is claimed" in strategy.theorem) != sublinear
        assert ("one evaluation at a time and an argmax" in strategy.theorem) == sublinear


def test_without_lengthscales_for_each_input_regret_is_claimed_up_to_so_many() -> None:
    known = nr.GPUCB(0.3, kernel=Matern(2.5), width="mixture", noise_std=0.1)
    assert "sublinear in up to 4 inputs" in known.theorem
    rough = nr.GPUCB(0.3, kernel=Matern(0.5), width="mixture", noise_std=0.1)
    assert "Of the regret nothing is claimed" in rough.theorem
