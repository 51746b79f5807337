"""Writes docs/reproduction.md from the summaries of ``noregret research reproduce``: every
number in it is read, every verdict computed (``verdicts.judge``).

Usage: python -m docs.making.reproduction RESULTS DOCS
"""

from __future__ import annotations

import gzip
import importlib
import json
import math
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import research.paper
from docs.making.verdicts import (
    RULES,
    Check,
    Measured,
    Row,
    between,
    count,
    exact,
    geometric_mean,
    mean,
    median,
    number,
    share,
)
from research.paper import FIGURES
from research.paper.runner import Options

ONE, BOUND, ANCHORED = "A-GP-UCB (one step)", "A-GP-UCB (bound)", "A-GP-UCB (bound, anchored)"
TRUE, BY_MAP, BY_HMC, KAPPA, WRONG = (
    "GP-UCB (true)",
    "GP-UCB (MAP)",
    "GP-UCB (HMC)",
    "κ rule (Wang & de Freitas)",
    "GP-UCB (misspecified)",
)
SHORT = {
    ONE: "one step",
    BOUND: "bound",
    ANCHORED: "anchored bound",
    TRUE: "true",
    BY_MAP: "MAP",
    BY_HMC: "HMC",
    KAPPA: "κ rule",
    WRONG: "misspecified",
}
MOST = 2 / 3  # of the starts: "it sticks"; eight of eight show that much
LINEAR = 0.9  # regret per step, last 50 steps over first 50; t^0.9 itself comes to 0.82 at T = 200

Summary = dict[str, Any]
SUMMARIES = Path(str(research.paper.__file__)).parent / "summaries.json"
RAW = "fig6"  # whose trainings are dear: every run is kept beside the summaries


def where(values: Sequence[float], mask: Sequence[bool]) -> list[float]:
    return [value for value, wanted in zip(values, mask, strict=True) if wanted]


def ratio(above: Sequence[float], below: Sequence[float]) -> list[float]:
    """Seed by seed; never over never is never."""
    return [
        a / b if math.isfinite(b) and b else math.inf for a, b in zip(above, below, strict=True)
    ]


def regrets(row: Summary) -> list[float]:
    values: list[float] = row["cumulative_regret"]["values"]
    return values


def pays_more(m: Summary, method: str, than: str) -> Check:
    """Cumulative regret, paired by seed."""
    difference = np.subtract(regrets(m[method]), regrets(m[than])).tolist()
    return Check(f"R − R({SHORT[than]})", mean(difference), ">", 0, SHORT[method])


def slope_ratio(m: Summary, method: str) -> Measured:
    return mean(ratio(m[method]["last_slope"], m[method]["first_slope"]))


def none_stuck(m: Summary, method: str) -> Check:
    return Check(
        "number of starts that end stuck",
        count(m[method]["stuck"], m[method]["seeds"]),
        "≤",
        0,
        SHORT[method],
    )


def means(m: Summary, methods: Sequence[str] | None = None) -> str:
    return "R: " + ", ".join(
        f"{SHORT[k]} {mean(regrets(m[k])).shown}" for k in (methods or list(m))
    )


def fig1_rows(s: Summary) -> list[Row]:
    stuck, above, missed = (
        s["stuck_starts"],
        s["posterior_share_above_true"],
        s["share_of_grid_missed"],
    )
    return [
        Row(
            "Although the prior suggests short lengthscales, the posterior concentrates on longer"
            " ones than the true (JMLR sec. 3.3)",
            [Check("posterior mass above the true θ = 0.1", mean(above), ">", 0.9, "all starts")],
            "in the starts that are stuck",
            [
                Check(
                    "posterior mass above the true θ = 0.1",
                    mean(where(above, stuck)),
                    ">",
                    0.9,
                    "stuck starts",
                )
            ],
            f"Prior mass above it {s['prior_share_above_true']:.2f}; posterior mean of θ,"
            f" stuck starts {mean(where(s['posterior_mean_lengthscale'], stuck)).shown}, prior mean"
            f" {s['prior_mean_lengthscale']:g}",
        ),
        Row(
            "Even averaged over the posterior of θ, the 2σ band does not contain f (JMLR sec. 3.3)",
            [Check("share of the grid outside the band", mean(missed), ">", 0.05, "all starts")],
            "in the starts that are stuck",
            [
                Check(
                    "share of the grid outside the band",
                    mean(where(missed, stuck)),
                    ">",
                    0.05,
                    "stuck starts",
                )
            ],
            f"Furthest miss {max(s['largest_miss_in_std']):.1f}σ",
        ),
        Row(
            "Online estimation need not converge to the optimum (JMLR sec. 3.3)",
            [
                Check(
                    f"number of starts stuck after {s['iterations']} decisions, HMC",
                    count(s["stuck"], s["seeds"]),
                    "≥",
                    1,
                )
            ],
        ),
    ]


def fig2_rows(s: Summary) -> list[Row]:
    stuck, widened, found = (s["moments"][k] for k in ("stuck", "widened", "found"))

    return [
        Row(
            "With misspecified hyperparameters f is not inside the band, and GP-UCB samples only"
            " the local optimum",
            [
                Check(
                    "share of f outside the band",
                    exact(stuck["share_of_f_outside_band"]),
                    ">",
                    0.05,
                ),
                Check("next x (local optimum 0.98)", exact(stuck["next_x"]), ">", 0.9),
            ],
            "near the local optimum, not only at it",
            [
                Check(
                    "share of f outside the band",
                    exact(stuck["share_of_f_outside_band"]),
                    ">",
                    0.05,
                ),
                Check("next x (local optimum 0.98)", exact(stuck["next_x"]), ">", 0.6),
            ],
            f"h = {stuck['h']:.2f}, θ = {stuck['lengthscale']:.2f}",
        ),
        Row(
            "Shorter lengthscales widen the band and send the search elsewhere",
            [
                Check(
                    "θ over that when stuck",
                    exact(widened["lengthscale"] / stuck["lengthscale"]),
                    "<",
                    1,
                ),
                Check(
                    "mean width over that when stuck",
                    exact(widened["mean_width"] / stuck["mean_width"]),
                    ">",
                    1,
                ),
                Check("next x", exact(widened["next_x"]), "<", 0.6),
            ],
            "elsewhere, without a wider band",
            [Check("next x", exact(widened["next_x"]), "<", 0.6)],
            f"h = {widened['h']:.2f}, θ = {widened['lengthscale']:.2f}",
        ),
        Row(
            "The global optimum is found",
            [Check("simple regret", exact(found["simple_regret"]), "<", 0.05)],
            "nearly",
            [Check("simple regret", exact(found["simple_regret"]), "<", 0.1)],
            f"After {found['evaluations']} evaluations, h = {found['h']:.2f}, θ ="
            f" {found['lengthscale']:.2f}; {found['share_of_f_outside_band']:.0%} of f outside the"
            " band",
        ),
    ]


def norm_row(claim: str, growth: float, g: float, also: str = "") -> Row:
    """d = 1: attained up to a tenth, and not exceeded."""
    return Row(
        claim,
        between("growth of the norm / g^d", exact(growth / g), 0.9, 1.0),
        "g^(d/2), for the lemma is about squared norms; g^d is valid and loose",
        between("growth / g^(d/2)", exact(growth / math.sqrt(g)), 0.9, 1.0),
        also,
    )


def fig3_rows(s: Summary) -> list[Row]:
    m = s["methods"]
    follows = mean(ratio(s["final_estimate"], s["final_reference"]))
    return [
        norm_row(
            "Shrinking lengthscales by g raises the norm by up to g^d (JMLR sec. 4)",
            s["norm_growth"],
            s["paper_allows"],
            f"A smooth f, g = {s['paper_allows']:g}; the norm of a rough sample grows by"
            f" {s['norm_growth_of_a_sample']:.3f}",
        ),
        Row(
            "Misspecified GP-UCB has constant regret per step; ours is between it and the true one",
            [
                Check(
                    "regret per step, last over first 50 steps",
                    slope_ratio(m, WRONG),
                    "≥",
                    LINEAR,
                    "misspecified",
                ),
                pays_more(m, ONE, TRUE),
                pays_more(m, WRONG, ONE),
            ],
            "the order is as claimed, the regret per step of the misspecified one is not constant",
            [pays_more(m, ONE, TRUE), pays_more(m, WRONG, ONE)],
            means(m),
        ),
        Row(
            "h is chosen so that the estimate of the regret follows p(t)",
            between("estimate / p(t) at the end", follows, 0.9, 1.1),
            "within a factor of two",
            between("estimate / p(t) at the end", follows, 0.5, 2.0),
            f"p(t) = {s['final_reference'][0]:.1f}, far above the regret paid",
        ),
    ]


def fig4_rows(s: Summary) -> list[Row]:
    m = s["methods"]
    hmc = m[BY_HMC]
    stuck = hmc["stuck_starts"]
    factor = [10 / v for v in hmc["final_scaling"]["values"]]
    constant = ratio(where(hmc["last_slope"], stuck), where(hmc["simple_regret"]["values"], stuck))

    def delay(method: str, limit: float) -> Check:
        steps = median(ratio(m[method]["found_at"], m[TRUE]["found_at"]))
        return Check(
            "median of the steps to simple regret < 0.05 over those of true",
            steps,
            "≤",
            limit,
            SHORT[method],
        )

    def falls(method: str) -> Check:
        return Check(
            "regret per step, last over first 50 steps",
            slope_ratio(m, method),
            "<",
            LINEAR,
            SHORT[method],
        )

    def scaling(method: str, limit: float) -> Check:
        return Check(
            "final θ_0/θ_t (true 10)",
            mean(m[method]["final_scaling"]["values"]),
            "≥",
            limit,
            SHORT[method],
        )

    def noisier(than: str) -> Check:
        jumps = np.subtract(m[ONE]["scaling_jumps"], m[than]["scaling_jumps"]).tolist()
        return Check(
            "mean change of log(θ_0/θ_t) per step, one step − the other",
            mean(jumps),
            ">",
            0,
            SHORT[than],
        )

    dearer = "above" if np.mean(regrets(m[ONE])) > np.mean(regrets(hmc)) else "below"
    only_stuck = where(np.subtract(regrets(hmc), regrets(m[ONE])).tolist(), stuck)
    return [
        Row(
            "All methods that adapt hyperparameters evaluate close to the optimum in the end",
            [none_stuck(m, k) for k in (KAPPA, ONE, BOUND)],
            "the bound needs an anchored reference",
            [none_stuck(m, k) for k in (KAPPA, ONE, ANCHORED)],
        ),
        Row(
            "… almost as quickly as GP-UCB with the true hyperparameters",
            [delay(k, 1.5) for k in (KAPPA, ONE, ANCHORED)],
            "in up to three times as many steps",
            [delay(k, 3.0) for k in (KAPPA, ONE, ANCHORED)],
            "Median steps: "
            + ", ".join(
                f"{SHORT[k]} {number(float(np.median(m[k]['found_at'])))}"
                for k in (TRUE, KAPPA, ONE, ANCHORED, BOUND)
            ),
        ),
        Row(
            "HMC considers functions that are too smooth and sticks",
            [Check("share of starts stuck, HMC", share(hmc["stuck"], hmc["seeds"]), "≥", MOST)],
            "in some starts",
            [Check("number of starts stuck, HMC", count(hmc["stuck"], hmc["seeds"]), "≥", 1)],
            f"MAP {share(m[BY_MAP]['stuck'], hmc['seeds']).shown}",
        ),
        Row(
            "HMC over-estimates the lengthscale by a factor of about two, consistently",
            between("factor, geometric mean", geometric_mean(factor), 1.5, 2.7, "all starts"),
            "where it is stuck, and not by about two but by more than 1.5",
            [
                Check(
                    "factor, geometric mean",
                    geometric_mean(where(factor, stuck)),
                    ">",
                    1.5,
                    "stuck starts",
                )
            ],
        ),
        Row(
            "The stuck method pays constant regret per step",
            between(
                "regret per step over the last 50 / simple regret, stuck starts",
                mean(constant),
                0.8,
                1.25,
            ),
            "not less than its simple regret, and up to twice that",
            between(
                "regret per step over the last 50 / simple regret, stuck starts",
                mean(constant),
                0.8,
                2.0,
            ),
        ),
        Row(
            "The modified Wang–de Freitas rule has linear regret",
            [
                Check(
                    "regret per step, last over first 50 steps",
                    slope_ratio(m, KAPPA),
                    "≥",
                    LINEAR,
                    "κ rule",
                )
            ],
            also=means(m, [KAPPA]),
        ),
        Row(
            "GP-UCB with the true hyperparameters has the lowest cumulative regret",
            [pays_more(m, k, TRUE) for k in m if k != TRUE],
            "lower than ours",
            [pays_more(m, k, TRUE) for k in (ONE, BOUND, ANCHORED)],
            means(m),
        ),
        Row(
            "Our two methods have sublinear regret, above that of the true hyperparameters",
            [falls(ONE), falls(BOUND), pays_more(m, ONE, TRUE), pays_more(m, BOUND, TRUE)],
            "with an anchored reference for the bound",
            [falls(ONE), falls(ANCHORED), pays_more(m, ONE, TRUE), pays_more(m, ANCHORED, TRUE)],
        ),
        Row(
            "Ours pay less than HMC, which sticks (JMLR fig. 4)",
            [pays_more(m, BY_HMC, ONE), pays_more(m, BY_HMC, BOUND)],
            "one step, in the starts in which HMC sticks",
            [Check("R(HMC) − R(one step), stuck starts of HMC", mean(only_stuck), ">", 0)],
            f"At T = {s['iterations']} the mean regret of one step,"
            f" {number(float(np.mean(regrets(m[ONE]))))}, is {dearer} that of HMC,"
            f" {number(float(np.mean(regrets(hmc))))}",
        ),
        Row(
            "The class grows until the true lengthscale is found",
            [scaling(ONE, 9), scaling(BOUND, 9)],
            "it stops short of it, within a factor of two, and the bound needs an anchored"
            " reference",
            [scaling(ONE, 5), scaling(ANCHORED, 5)],
        ),
        Row(
            "The one-step estimate is noisier than the bound",
            [noisier(BOUND), noisier(ANCHORED)],
            "than the bound with p = t^0.9",
            [noisier(BOUND)],
        ),
    ]


def fig5_rows(s: Summary) -> list[Row]:
    m = s["methods"]
    wrong = share(m[WRONG]["stuck"], m[WRONG]["seeds"])
    return [
        Row(
            "GP-UCB with the correct hyperparameters has the lowest cumulative regret",
            [pays_more(m, k, TRUE) for k in m if k != TRUE],
            "lower than ours",
            [pays_more(m, k, TRUE) for k in (ONE, BOUND, ANCHORED)],
            means(m),
        ),
        Row(
            "With B_0 = 0.25 GP-UCB fails to converge",
            [Check("share of samples on which it ends stuck", wrong, "≥", MOST)],
            "on part of the samples",
            [
                Check(
                    "number of samples on which it ends stuck",
                    count(m[WRONG]["stuck"], m[WRONG]["seeds"]),
                    "≥",
                    1,
                )
            ],
            f"Simple regret {mean(m[WRONG]['simple_regret']['values']).shown}",
        ),
        Row(
            "Our methods converge although θ_0 is wrong too",
            [none_stuck(m, ONE), none_stuck(m, BOUND)],
            "one step does",
            [none_stuck(m, ONE)],
            f"Anchored bound stuck in {m[ANCHORED]['stuck']} of {m[ANCHORED]['seeds']}",
        ),
    ]


def fig6_rows(s: Summary) -> list[Row]:
    m = s["methods"]
    place = {name: i for i, name in enumerate(s["inputs"])}
    fits = np.array(m[BY_MAP]["fitted_lengthscales"])
    idle = np.minimum(fits[:, place["batch_size"]], fits[:, place["dropout"]])
    busy = np.maximum(fits[:, place["learning_rate"]], fits[:, place["l2"]])
    best = min(min(row["best_loss"]) for row in m.values())

    def close(method: str, limit: float) -> Check:
        above = [v / best for v in m[method]["simple_regret"]["values"]]
        return Check("(loss − best found) / best found", mean(above), "<", limit, SHORT[method])

    def repeats(method: str, relation: Any) -> Check:
        return Check(
            "share of steps below 0.02 in the last third",
            mean(m[method]["late_repeats"]),
            relation,
            0.5,
            SHORT[method],
        )

    def longer(method: str, than: str) -> Check:
        steps = np.subtract(m[method]["late_step"], m[than]["late_step"]).tolist()
        return Check(
            f"median step in the last third − that of {SHORT[than]}",
            mean(steps),
            ">",
            0,
            SHORT[method],
        )

    def cost(method: str) -> Check:
        return Check(
            "cumulative regret over that of MAP",
            mean(ratio(regrets(m[method]), regrets(m[BY_MAP]))),
            "≤",
            1.1,
            SHORT[method],
        )

    def loss(method: str) -> Check:
        gap = np.subtract(m[method]["best_loss"], m[BY_MAP]["best_loss"]).tolist()
        return Check("best loss − that of MAP", mean(gap), "<", 0.03, SHORT[method])

    return [
        Row(
            "All methods find close-to-optimal inputs",
            [close(k, 0.1) for k in m],
            "within a third of the best loss",
            [close(k, 1 / 3) for k in m],
            f"Best loss found {best:.3f}",
        ),
        Row(
            "MAP finds that dropout and batch size hardly matter",
            [
                Check(
                    "shorter of their lengthscales / longer of the other two",
                    geometric_mean((idle / busy).tolist()),
                    ">",
                    2,
                )
            ],
            "they matter less than the other two",
            [
                Check(
                    "shorter of their lengthscales / longer of the other two",
                    geometric_mean((idle / busy).tolist()),
                    ">",
                    1,
                )
            ],
            "Median fitted lengthscales: "
            + ", ".join(
                f"{k} {v:.2g}" for k, v in zip(place, np.median(fits, axis=0), strict=True)
            ),
        ),
        Row(
            "The baselines repeat the same inputs after convergence; ours go on exploring",
            [repeats(BY_MAP, ">"), repeats(BY_HMC, ">"), repeats(ONE, "<"), repeats(ANCHORED, "<")],
            "ours take the longer steps, but the baselines do not repeat either",
            [longer(k, b) for k in (ONE, ANCHORED) for b in (BY_MAP, BY_HMC)],
        ),
        Row(
            "Ours has the same empirical performance as MAP",
            [cost(ONE), cost(ANCHORED), loss(ONE), loss(ANCHORED)],
            "in the best loss found, not in the cumulative regret",
            [loss(ONE), loss(ANCHORED)],
            "Cumulative regret: "
            + ", ".join(f"{SHORT[k]} {mean(regrets(v)).shown}" for k, v in m.items()),
        ),
    ]


def errata_rows(s: Summary) -> list[Row]:
    c = s["coverage"]
    n = next(iter(c.values()))["functions"]
    mixture = min(row["mixture"] / row["functions"] for row in c.values())
    growth = s["information_growth_at_half_lengthscale"]
    log = s["log_schedule"]
    ways = s["min_and_scale"]
    p = s["reference_p"]
    monotone = [
        Check("least change of the variance", exact(value), "≥", -1e-9, name)
        for name, value in s["worst_variance_change"].items()
    ]
    first_at = [
        Check("step at which h leaves 1, median", median(steps), "≤", 20, f"σ = {sigma}")
        for sigma, steps in s["bound_estimator_starts"].items()
    ]
    anchored = [
        Check("the same, anchored", median(steps), "≤", 20, f"σ = {sigma}")
        for sigma, steps in s["anchored_estimator_starts"].items()
    ]
    falls = s["one_step_data_sets"]
    return [
        Row(
            "β^½ = B + 4σ√(I + 1 + ln 1/δ) is a confidence bound (JMLR Lemma 1)",
            [
                Check(
                    "joint coverage at nominal 0.9",
                    share(row["paper"], row["functions"]),
                    "≥",
                    0.9,
                    key,
                )
                for key, row in c.items()
            ],
            also=f"{n} functions each; `mixture` covers {mixture:.1%} or more throughout",
        ),
        Row(
            "The bound estimator with p = t^0.9 widens the class (JMLR sec. 4.1)",
            first_at,
            "with an anchored reference",
            anchored,
        ),
        Row(
            "The estimators are increasing in h, so a line search inverts them",
            [
                Check(
                    "number of data sets on which one step falls somewhere",
                    count(s["one_step_falls"], falls),
                    "≤",
                    0,
                )
            ],
            "the first upward crossing: the estimate ends above its start",
            [
                Check(
                    "number of data sets on which it ends below its start",
                    count(s["one_step_ends_below"], falls),
                    "≤",
                    0,
                )
            ],
        ),
        Row(
            "The proof for changing kernels is that for a fixed one (JMLR app. A); it uses that"
            " shorter lengthscales do not lower the variance",
            monotone,
            "for SE; and θ_t depends on the data, which a bound for all classes at once repairs"
            " ([theory](theory.md#radius))",
            [check for check in monotone if check.of == "SE"],
            f"{s['variance_trials']} random trials each",
        ),
        norm_row(
            "Norms grow by g^d",
            s["norm_ratio_of_a_flat_function_at_g_2"],
            2.0,
            "A flat function, g = 2, d = 1",
        ),
        Row(
            "Halving the lengthscales multiplies γ_t by 2^d (SE)",
            [
                check
                for d, v in growth.items()
                for check in between(
                    "factor / 2^d", mean([x / 2 ** int(d[2:]) for x in v]), 0.9, 1.1, d
                )
            ],
            "at most, and less at this horizon",
            [
                Check("factor / 2^d", mean([x / 2 ** int(d[2:]) for x in v]), "≤", 1.1, d)
                for d, v in growth.items()
            ],
            "Factors at t = 200, greedy: "
            + ", ".join(f"{d} {np.mean(v):.2f}" for d, v in growth.items()),
        ),
        Row(
            "b = g = log t satisfies the conditions (JMLR sec. 4.1)",
            [
                Check("g at t = 1", exact(log["printed_at_t_1"]), "≥", 1),
                Check("exponent of t in the bound", exact(log["exponent"]), "<", 1),
            ],
            "1 + log(1 + t) does, and is far too slow to matter",
            [
                Check("exponent of t in the bound", exact(log["exponent"]), "<", 1),
                Check(
                    "step of capture with θ_0/θ = 10", exact(log["capture_time_ratio_10"]), ">", 200
                ),
            ],
            f"SE, d = 3, and 1 + log(1 + t): {log['rate']}",
        ),
        Row(
            "p = t^0.9 makes h grow (Matérn too)",
            [
                Check("exponent of √t·γ_t of a fixed class", exact(value), "<", p, name)
                for name, value in s["fixed_class_exponent"].items()
            ],
            also="Where the exponent is not below that of p, h may never grow: a floor is needed",
        ),
        Row(
            "In one dimension min and scale are equivalent (JMLR sec. 4.2)",
            [Check("difference of θ_t", exact(abs(ways["min"] - ways["scale"])), "≤", 1e-9)],
            also=f"θ_0 = 1, θ^MAP = 0.5, g = 1.5: {ways['min']:g} against {ways['scale']:.3f}",
        ),
        *appendix_rows(s),
    ]


def appendix_rows(s: Summary) -> list[Row]:
    """The misprints of the appendices. Matérn 3/2: 2ν = 3."""
    a, w = s["appendix"], s["widths"]
    tail, printed, own = (a[f"matern_{kind}_exponent"] for kind in ("tail", "printed", "constant"))
    return [
        Row(
            "The regret after capture has r_s² ≤ C_1 β_t I (app. A, end of the proof)",
            [Check("(Σ 2β^½σ)² / (C_1 β_t I)", mean(w["widths_over_printed"]), "≤", 1)],
            "r_s² ≤ C_1 t β_t I: Cauchy–Schwarz costs a factor t",
            [Check("(Σ 2β^½σ)² / (C_1 t β_t I)", mean(w["widths_over_bound_with_t"]), "≤", 1)],
            "The sum is what the proof bounds, t = 200; the regret itself is smaller, its square"
            f" {mean(w['regret_over_printed']).shown} of C_1 β_t I. Without t the regret would be a"
            " power of log t, below the known lower bounds of order √t",
        ),
        Row(
            "log(1 + x²) ≥ x² log(1 + m²)/m² for x in [0, m²], m = x_max (app. B)",
            [
                Check(
                    "share of [0, m²] where it fails, m = 2",
                    exact(a["log_lemma_fails_squared"]),
                    "≤",
                    0,
                )
            ],
            "for x in [0, m]",
            [Check("share of [0, m] where it fails", exact(a["log_lemma_fails_plain"]), "≤", 0)],
            "log(1 + u)/u falls in u = x², so the inequality turns round at x = m",
        ),
        Row(
            "SE: α^−d is of order g^(2d), and ds = d t^(d−1)/α dt (app. B)",
            [
                *between("exponent of g in 1/α", exact(a["alpha_exponent"]), 1.95, 2.05),
                *between(
                    "tail integral / its printed form, d = 2",
                    exact(a["tail_over_one_over_alpha"]),
                    0.999,
                    1.001,
                ),
            ],
            "α^−d is of order g^d, and ds = d t^(d−1)/α^d dt",
            [
                *between("exponent of g in 1/α", exact(a["alpha_exponent"]), 0.95, 1.05),
                *between(
                    "tail integral / the form with α^−d",
                    exact(a["tail_over_alpha_to_minus_d"]),
                    0.999,
                    1.001,
                ),
            ],
            "The dropped root, 2θ²√(a² + a/θ²), is of order θ and outweighs θ²; with α^−d of order"
            " g^d the capacity g^d (log t)^(d+1) follows from T_* alone, without c",
        ),
        Row(
            "Matérn: the eigenvalues' tail, and γ_t, grow by g^(2νd) (app. B)",
            [
                *(
                    Check(
                        "distance of 2νd from the 2ν + d of the appendix's constant C, ν = 3/2",
                        exact(abs(printed[d] - own[d])),
                        "≤",
                        0,
                        d,
                    )
                    for d in printed
                ),
                *(
                    Check("exponent measured in the tail / 2νd", exact(tail[d] / v), "≤", 1, d)
                    for d, v in printed.items()
                ),
            ],
            "g^(2ν+d), as in the proposition; the tail itself has g^(2ν)",
            [
                Check("exponent measured in the tail / (2ν + d)", exact(tail[d] / v), "≤", 1, d)
                for d, v in own.items()
            ],
            "The spectral density θ^d s(θω) has θ^(−2ν)·ω^(−2ν−d) for large ω, whatever d is",
        ),
    ]


ROWS: dict[str, Callable[[Summary], list[Row]]] = {
    "fig1": fig1_rows,
    "fig2": fig2_rows,
    "fig3": fig3_rows,
    "fig4": fig4_rows,
    "fig5": fig5_rows,
    "fig6": fig6_rows,
    "errata": errata_rows,
}

INTRO = (
    """# The paper, figure by figure and claim by claim

The claims of [the paper](theory.md), in our words. The command above each table measures its
numbers; `make reproduction MNIST=<folder with the four files>` writes this page from them.

The paper leaves noise, horizon, prior and functions open
([what we took](theory.md#unstated)). Its settings are used where stated: θ_0 = 1, B_0 = 2, δ = 0.1,
λ_w = 0.1, p = t^0.9, κ = 0.1, 2^d uniform initial points, not counted. Regret is on the noise-free
function. Bands in the pictures are one standard deviation. A start is stuck if its simple regret
ends above 0.1 (figure 1: 0.2).

"""
    + RULES
)

FULL = """# Claims of the paper: criteria, numbers, verdicts

Written by `make reproduction`, as `docs/reproduction.md` is, which shows the numbers that decide.

| the paper | holds if | measured | verdict |
|---|---|---|---|
"""

NOTES = {
    "fig3": (
        "(a′) adds the exact norm as lengthscales shrink. A smooth function nearly attains the"
        " lemma's √g, while the norm of a rough sample falls at first."
    ),
    "fig4": (
        "The bound estimator is shown with the paper's p = t^0.9 and with a reference anchored at"
        " the first decision. MAP and HMC use the empirical width 2 on standardised values, as the"
        " paper's baselines do."
    ),
    "fig5": "A-GP-UCB starts at θ_0 = 1 (true 0.1) and B_0 = 0.25 (true 4); GP-UCB has the true θ.",
    "fig6": (
        "Mini-batch SGD with input dropout, 20,000 training images and 25 epochs (quick: 5,000 and"
        " 10), validation loss on the 10,000 test images. The optimum is unknown: regret is with"
        " respect to the best loss found by any run. A-GP-UCB has the prior mean −1.5 of the"
        " negative loss and σ = 0.05; the baselines standardise and estimate the noise."
    ),
    "errata": (
        "[Errata of the paper](theory.md#errata) and other claims of sections 3 and 4 that can be"
        " computed."
    ),
}


def page(summaries: dict[str, Summary]) -> str:
    parts = [INTRO]
    for name in FIGURES:
        if name not in summaries:
            parts.append(f"## {name}\n\nNot computed in the last run.\n")
            continue
        summary = summaries[name]
        title = "Errata" if name == "errata" else f"Figure {name[3:]}"
        extra = " --mnist DIR" if name == "fig6" else ""
        options, told = settings(name, summary)
        note = f"{NOTES[name]}\n\n" if name in NOTES else ""
        rows = "\n".join(row.short for row in ROWS[name](summary))
        parts.append(
            f"## {title}: {summary['title']}\n\n"
            f"`noregret research reproduce {name}{extra}{options}`"
            f" ({summary['runs']} runs{told}, {summary['seconds'] / 60:.1f} minutes of"
            " one core)\n\n"
            f"![{summary['title']}](figures/{name}.png)\n\n{note}"
            f"| the paper | measured | verdict |\n|---|---|---|\n{rows}\n"
        )
    return "\n".join(parts)


def claims(summaries: dict[str, Summary]) -> str:
    """Every row in full."""
    rows = (row for name in FIGURES if name in summaries for row in ROWS[name](summaries[name]))
    return FULL + "".join(f"{row.line}\n" for row in rows)


def settings(name: str, summary: Summary) -> tuple[str, str]:
    """The options with which to repeat it, and how many seeds there were, with the usual number
    where these are fewer.
    """
    quick = bool(summary["quick"])
    options = " --quick" if quick else ""
    module = importlib.import_module(f"research.paper.{name}")
    jobs = module.jobs(Options(Path(), quick=quick))
    if summary["iterations"] != max(job.iterations for job in jobs):
        options += f" --iterations {summary['iterations']}"
    found = summary.get("seeds") or next(
        (row["seeds"] for row in summary.get("methods", {}).values()), None
    )
    if found is None:
        return options, ""
    usual = len({job.seed for job in jobs})
    if found != usual:
        options += f" --seeds {found}"
    few = f" instead of {usual}, for want of time" if found < usual else ""
    return options, f" on {found} seeds{few}"


def collect(results: Path) -> dict[str, Summary]:
    """The summaries of ``noregret research reproduce --out results``, as far as there are any."""
    found = {name: results / name / "summary.json" for name in FIGURES}
    return {
        name: json.loads(path.read_text(encoding="utf-8"))
        for name, path in found.items()
        if path.exists()
    }


def main(results: Path, docs: Path, kept: Path = SUMMARIES) -> None:
    """The page, its pictures, and the summaries it is made of, so that a test can make it again.
    Unpacked as results.jsonl into its folder, a kept log of runs is resumed.
    """
    summaries = collect(results)
    (docs / "figures").mkdir(parents=True, exist_ok=True)
    for name in summaries:
        shutil.copy(results / name / f"{name}.png", docs / "figures" / f"{name}.png")
    log = results / RAW / "results.jsonl"
    if log.exists():
        kept.with_name(f"{RAW}.jsonl.gz").write_bytes(gzip.compress(log.read_bytes(), mtime=0))
    kept.write_text(json.dumps(summaries, indent=1) + "\n", encoding="utf-8")
    (docs / "reproduction.md").write_text(page(summaries), encoding="utf-8")
    kept.with_name("claims.md").write_text(claims(summaries), encoding="utf-8")
    print(f"wrote {docs / 'reproduction.md'}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
