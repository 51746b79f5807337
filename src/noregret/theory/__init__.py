"""What the theorems allow, as calculators: docs/theory.md in numbers.

orders        growth orders of t, log t, g and b; capacity γ_t; the rates of the corollary
bounds        Theorem 1 in numbers: the regret bound, and the step from which f is in the class
sublinearity  is a schedule, a scaling h or a reference slow enough, and does it capture every f?
"""

from noregret.gp import GREEDY_SHARE, greedy_information
from noregret.theory.bounds import (
    capture_time,
    cumulative,
    first_time,
    instantaneous,
    norm_inflation,
    refined_capture_time,
    regret_bound,
    regret_constant,
    simple,
)
from noregret.theory.orders import (
    Capacity,
    Order,
    RegretRate,
    Setting,
    capacity_order,
    largest_exponent,
    printed_corollary,
    regret_rate,
)
from noregret.theory.sublinearity import Verdict, check_reference, check_scaling, check_schedule

__all__ = [
    "GREEDY_SHARE",
    "Capacity",
    "Order",
    "RegretRate",
    "Setting",
    "Verdict",
    "capacity_order",
    "capture_time",
    "check_reference",
    "check_scaling",
    "check_schedule",
    "cumulative",
    "first_time",
    "greedy_information",
    "instantaneous",
    "largest_exponent",
    "norm_inflation",
    "printed_corollary",
    "refined_capture_time",
    "regret_bound",
    "regret_constant",
    "regret_rate",
    "simple",
]
