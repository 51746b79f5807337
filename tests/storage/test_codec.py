import json
import math
import warnings
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret.errors import GuaranteeWarning, StorageError
from noregret.extensions.marginal_gp_ucb import HMC
from noregret.gp.fit import MAP, Gamma, LogNormal
from noregret.gp.kernels import Matern, SquaredExponential
from noregret.rkhs.evidence_class import EvidenceClass
from noregret.rkhs.widening import LogGrowth, PowerGrowth, ReferenceRegret, Schedule
from noregret.storage import codec
from noregret.storage.codec import from_json, to_json


def values() -> list[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GuaranteeWarning)
        return [
            nr.AdaptiveGPUCB.paper(),
            nr.AdaptiveGPUCB.paper(
                estimator="regret_bound", anchored=True, lengthscales=(1.0, 0.5)
            ),
            nr.AdaptiveGPUCB.rigorous(0.1, kernel=Matern(2.5)),
            nr.InsuredGPUCB(),
            nr.AdaptiveGPUCB(widening=Schedule("log", PowerGrowth(1.0, 0.1))),
            nr.InsuredGPUCB(noise_std=0.2, initial_points=7),
            nr.AdaptiveGPUCB.rigorous(0.1, following=EvidenceClass(2.0, floor=LogGrowth(0.2))),
            nr.AdaptiveGPUCB(
                width="mixture",
                widening=ReferenceRegret(
                    weight=0.3, cap=PowerGrowth(), floor=LogGrowth(0.2), maximum=math.inf
                ),
            ),
            nr.GPUCB(lengthscales=0.1, norm_bound=2.0, noise_std=0.05, width="mixture"),
            nr.GPUCB(estimation=MAP(Gamma(3.0, 6.0), combine="scale")),
            nr.MarginalGPUCB(sampler=HMC(5), prior=LogNormal(0.0, 1.0)),
            nr.MinimumUncertainty(kappa=0.2),
            nr.RandomSearch(),
            nr.LogEI(),
            nr.Space(
                {
                    "type": nr.Float(0, 1),
                    "n": nr.Int(1, 9, log=True),
                    "c": nr.Choice(["a", None, 3, True]),
                }
            ),
            nr.Space.from_bounds([(0, 1), (2, 3)]),
            nr.Candidates([{"a": 1.0, "b": "x"}, {"a": 2.0, "b": "y"}]),
            nr.Candidates([[1.0, 2.0], [3.0, 4.0]]),
        ]


@pytest.mark.parametrize("value", values(), ids=lambda v: type(v).__name__)
@pytest.mark.filterwarnings("ignore::noregret.errors.GuaranteeWarning")
def test_round_trip_through_text(value: Any) -> None:
    text = json.dumps(to_json(value), allow_nan=False)
    back = from_json(json.loads(text))
    assert back == value
    assert type(back) is type(value)


def test_user_callables_are_refused_with_the_built_in_names() -> None:
    strategy = nr.AdaptiveGPUCB(noise_std=0.4, widening=Schedule(lambda t: 1 + t, "log"))
    with pytest.raises(StorageError, match=r'"constant", "log", "power".*in memory'):
        to_json(strategy)


def test_unknown_things_are_refused() -> None:
    class MyKernel(SquaredExponential):
        """Of one's own, and not registered."""

    with pytest.raises(StorageError, match="cannot be stored: its class is not registered"):
        to_json(nr.GPUCB(kernel=MyKernel()))
    with pytest.raises(StorageError, match="unknown type"):
        from_json({"type": "os.system", "command": "true"})


def test_of_a_long_list_a_document_holds_the_size_and_the_ranges() -> None:
    short = nr.Candidates([[1.0], [2.0]])
    assert codec.described(short) == codec.to_json(short)
    box = nr.Space({"x": nr.Float(0, 1)})
    assert codec.described(box) == codec.to_json(box)
    long = nr.Candidates({"x": np.arange(2000.0), "s": ["a", "b"] * 1000})
    assert codec.described(long) == {
        "type": "Candidates",
        "designs": 2000,
        "columns": {
            "x": codec.to_json(nr.Float(0, 1999)),
            "s": codec.to_json(nr.Choice(["a", "b"])),
        },
    }
    json.dumps(codec.described(long), allow_nan=False)
