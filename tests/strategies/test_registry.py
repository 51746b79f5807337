import pytest

import noregret as nr
from noregret.errors import ConfigurationError
from noregret.strategies import Strategy
from noregret.strategies.registry import display_name, named, names

NEEDED = {"lb-gp-ucb": {"noise_std": 0.1}}


@pytest.mark.filterwarnings("ignore::noregret.errors.GuaranteeWarning")
@pytest.mark.parametrize("name", names())
def test_every_name_makes_a_strategy(name: str) -> None:
    assert isinstance(named(name, NEEDED.get(name, {})), Strategy)


def test_options_are_those_of_the_strategy() -> None:
    assert named("insured", {"noise_std": 0.5}) == nr.InsuredGPUCB(noise_std=0.5)
    assert named("rigorous", {"noise_bound": 0.1, "delta": 0.05}) == nr.AdaptiveGPUCB.rigorous(
        0.1, 0.05
    )


@pytest.mark.parametrize(
    ("name", "options", "expected"),
    [
        ("magic", {}, "no strategy 'magic'"),
        ("lb-gp-ucb", {}, "needs noise_std"),
        ("random", {"x": 1}, "it has none"),
        ("log-ei", {"noise": 1}, "no option 'noise': it has noise_std"),
        ("insured", {"noise_std": [1]}, "positive"),
        ("rigorous", {"noise_bound": 0.1, "delta": "small"}, "delta must be in"),
        ("rigorous", {"noise_bound": 0.1, "outcomes": 5}, "cannot take"),
    ],
)
def test_mistakes(name: str, options: dict[str, object], expected: str) -> None:
    with pytest.raises(ConfigurationError, match=expected):
        named(name, options)


@pytest.mark.filterwarnings("ignore::noregret.errors.GuaranteeWarning")
@pytest.mark.parametrize("name", names())
def test_what_a_name_makes_is_displayed_by_it(name: str) -> None:
    assert display_name(named(name, NEEDED.get(name, {}))) == name


def test_options_change_no_name_and_other_strategies_have_their_types() -> None:
    assert display_name(nr.InsuredGPUCB(0.5, initial_points=3)) == "insured"
    assert display_name(nr.AdaptiveGPUCB.rigorous(0.1, 0.05, norm_bound=20.0)) == "rigorous"
    assert display_name(nr.GPUCB(lengthscales=0.2)) == "gp-ucb"
    other = nr.AdaptiveGPUCB(width="mixture")
    assert display_name(other) == "AdaptiveGPUCB"
