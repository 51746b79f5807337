"""Function classes {f : ‖f‖_θ ≤ B}: what they are, how fast they grow, how wide their band is.

function_class  the class, and how it is widened      growth      curves of t
widening        rules that decide by how much         confidence  widths, one function per theorem
radius          one bound for all classes             following   a class that follows the data
shortening      by a factor, now and then             ladder      rougher kernels over time
repeats         a bound on the noise that nobody knows
"""

from noregret.classes.following import Followed, Following
from noregret.classes.function_class import FunctionClass, NormPower, merge, split
from noregret.classes.growth import (
    BUILT_IN,
    ConstantGrowth,
    Growth,
    LogGrowth,
    PowerGrowth,
    as_growth,
)
from noregret.classes.ladder import Ladder
from noregret.classes.radius import (
    Mixture,
    RadiusBand,
    Values,
    norm_lower_bound,
    radius_band,
    radius_squared,
)
from noregret.classes.repeats import FromRepeats, first_pairs, pairs_at, unpaired
from noregret.classes.shortening import Shortening
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
WIDENINGS: tuple[type, ...] = (
    NoWidening,
    Schedule,
    ReferenceRegret,
    MinimumStd,
    Shortening,
    Following,
    FromRepeats,
    Ladder,
)

__all__ = [
    "BUILT_IN",
    "GROWTHS",
    "REFERENCES",
    "WIDENINGS",
    "AnchoredReference",
    "ConstantGrowth",
    "Estimator",
    "Followed",
    "Following",
    "FromRepeats",
    "FunctionClass",
    "Growth",
    "Information",
    "Ladder",
    "LogGrowth",
    "MinimumStd",
    "Mixture",
    "NoWidening",
    "NormPower",
    "PowerGrowth",
    "PowerReference",
    "Probe",
    "RadiusBand",
    "ReferenceRegret",
    "Scaling",
    "Schedule",
    "Shortening",
    "Values",
    "Widening",
    "as_growth",
    "crossing_near",
    "first_pairs",
    "merge",
    "norm_lower_bound",
    "pairs_at",
    "radius_band",
    "radius_squared",
    "split",
    "unpaired",
]
