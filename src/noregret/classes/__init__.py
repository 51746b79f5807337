"""Function classes {f : ‖f‖_θ ≤ B}: what they are, how fast they grow, how wide their band is.

function_class  the class, and how it is widened      growth      curves of t
widening        rules that decide by how much         confidence  widths, one function per theorem
"""

from noregret.classes.function_class import FunctionClass, NormPower, merge, split
from noregret.classes.growth import (
    BUILT_IN,
    ConstantGrowth,
    Growth,
    LogGrowth,
    PowerGrowth,
    as_growth,
)
from noregret.classes.widening import (
    AnchoredReference,
    Estimator,
    Information,
    MinimumStd,
    NoWidening,
    PowerReference,
    Probe,
    ReferenceRegret,
    Scaling,
    Schedule,
    Widening,
    crossing_near,
)

# what can be stored
GROWTHS: tuple[type, ...] = (ConstantGrowth, LogGrowth, PowerGrowth)
REFERENCES: tuple[type, ...] = (PowerReference, AnchoredReference)
WIDENINGS: tuple[type, ...] = (NoWidening, Schedule, ReferenceRegret, MinimumStd)

__all__ = [
    "BUILT_IN",
    "GROWTHS",
    "REFERENCES",
    "WIDENINGS",
    "AnchoredReference",
    "ConstantGrowth",
    "Estimator",
    "FunctionClass",
    "Growth",
    "Information",
    "LogGrowth",
    "MinimumStd",
    "NoWidening",
    "NormPower",
    "PowerGrowth",
    "PowerReference",
    "Probe",
    "ReferenceRegret",
    "Scaling",
    "Schedule",
    "Widening",
    "as_growth",
    "crossing_near",
    "merge",
    "split",
]
