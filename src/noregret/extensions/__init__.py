"""The paper's last pages and its baselines: one file per idea, none on the default's path.

Every class here is registered as another package registers its own: by an entry point, see
``strategies/registry.py``. No other room imports this one; it is loaded when a name is used.

thompson             Thompson sampling             warping      bent inputs
randomised_gp_ucb    a random width                smoothness   the kernel's smoothness by evidence
lb_gp_ucb            competing lengthscales        additive     sums over groups of inputs
marginal_gp_ucb      lengthscales by HMC           categorical  a kernel of choices
minimum_uncertainty  Wang and de Freitas 2014      sparse       few of many inputs matter
subspace             widening by dimension
"""

from noregret.extensions.additive import Additive
from noregret.extensions.categorical import Categorical
from noregret.extensions.lb_gp_ucb import LBGPUCB
from noregret.extensions.marginal_gp_ucb import HMC, MarginalGPUCB
from noregret.extensions.minimum_uncertainty import MinimumUncertainty
from noregret.extensions.randomised_gp_ucb import RandomisedGPUCB
from noregret.extensions.smoothness import Smoothness
from noregret.extensions.sparse import Sparse
from noregret.extensions.subspace import Subspace
from noregret.extensions.thompson import AdaptiveThompson
from noregret.extensions.warping import Warping

__all__ = [
    "HMC",
    "LBGPUCB",
    "AdaptiveThompson",
    "Additive",
    "Categorical",
    "MarginalGPUCB",
    "MinimumUncertainty",
    "RandomisedGPUCB",
    "Smoothness",
    "Sparse",
    "Subspace",
    "Warping",
]
