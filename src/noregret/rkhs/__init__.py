"""Function classes {f : ‖f‖_θ ≤ B}: what they are, how fast they grow, how wide their band is.

function_class  the class, and a bound on its f      widening        growth curves, widening rules
confidence      widths, one function per theorem      radius          one bound for all classes
evidence_class  a class chosen by the evidence        noise_bound     the noise from replicates
"""

from typing import TYPE_CHECKING

from noregret.errors import lazily
from noregret.rkhs.function_class import (
    BoundedFunction,
    Cover,
    FunctionClass,
    NormPower,
    check_spectrum,
    covered,
    cube_cover,
    merge,
    searched,
)
from noregret.rkhs.radius import Mixture, RadiusBand, Values, norm_lower_bound, radius_band

if TYPE_CHECKING:
    from noregret.rkhs.confidence import WIDTHS, WidthName
    from noregret.rkhs.evidence_class import ClassEstimate, EvidenceClass, Ladder
    from noregret.rkhs.noise_bound import (
        NoiseFromReplicates,
        first_pairs,
        noise_refuted,
        on_noise_grid,
        pairs_at,
        unpaired,
    )
    from noregret.rkhs.widening import (
        BUILT_IN,
        AnchoredReference,
        ConstantGrowth,
        Estimator,
        Growth,
        Information,
        LogGrowth,
        MinimumStd,
        NoWidening,
        PowerGrowth,
        PowerReference,
        Probe,
        ReferenceRegret,
        Scaling,
        Schedule,
        Shortening,
        Widening,
        as_growth,
    )

__all__ = [
    "BUILT_IN",
    "WIDTHS",
    "AnchoredReference",
    "BoundedFunction",
    "ClassEstimate",
    "ConstantGrowth",
    "Cover",
    "Estimator",
    "EvidenceClass",
    "FunctionClass",
    "Growth",
    "Information",
    "Ladder",
    "LogGrowth",
    "MinimumStd",
    "Mixture",
    "NoWidening",
    "NoiseFromReplicates",
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
    "WidthName",
    "as_growth",
    "check_spectrum",
    "covered",
    "cube_cover",
    "first_pairs",
    "merge",
    "noise_refuted",
    "norm_lower_bound",
    "on_noise_grid",
    "pairs_at",
    "radius_band",
    "searched",
    "unpaired",
]

__getattr__ = lazily(__name__, __all__, "widening", "evidence_class", "noise_bound", "confidence")
