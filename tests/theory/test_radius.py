"""One radius for all classes: the formulas against naive versions, the band and the norm bound
against what they are the extremes of, joint coverage of bands and certificates, negative controls.
"""

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
from scipy.stats import binomtest, multivariate_normal, norm

from noregret.errors import ConfigurationError
from noregret.gp import Kernel, Matern, Posterior, SquaredExponential, condition, covariance
from noregret.rkhs import confidence
from noregret.rkhs.evidence_class import FINENESS
from noregret.rkhs.function_class import BoundedFunction, FunctionClass, covered
from noregret.rkhs.radius import (
    LENGTHS,
    SCALES,
    Mixture,
    RadiusBand,
    Values,
    norm_lower_bound,
    radius_band,
    radius_squared,
)
from noregret.space import Array
from noregret.testing.problems import rkhs_sample
from tests.naive import equal_values

SE = SquaredExponential()
DELTA = 0.1
LINE = np.linspace(0, 1, 101)[:, None]


def some_values(seed: int = 0, n: int = 12, d: int = 1, noise: float = 0.1) -> Values:
    rng = np.random.default_rng(seed)
    X, bounds = rng.random((n, d)), noise * rng.uniform(0.5, 2.0, n)
    f = rkhs_sample(seed, dimension=d, lengthscale=0.3, norm=2.0)
    return Values(X, f(X) + bounds * rng.standard_normal(n), bounds)


def start(d: int = 1) -> FunctionClass:
    return FunctionClass(np.full(d, 1.0), 2.0)


# -- formulas --


def log_ratio(y: Array, mean: Array, var: Array, noise_bounds: Array) -> Array:
    """log N(y; m, R² + s²)/N(y; y, R²) for each row, with m, s² known before its value."""
    gain = np.log1p(var / noise_bounds**2)
    return -0.5 * (gain + (y - mean) ** 2 / (noise_bounds**2 + var))


def predictions(theta: Array, amplitude: float, values: Values) -> tuple[Array, Array]:
    """m_s and s_s² for f(x_s), each by a posterior of the values before y_s."""
    mean, var = np.empty(len(values)), np.empty(len(values))
    for s in range(len(values)):
        noise_var = (values.noise_bounds[:s] / amplitude) ** 2
        before = condition(SE, theta, values.X[:s], values.y[:s] / amplitude, noise_var)
        m, std = before.predict(values.X[s : s + 1])
        mean[s], var[s] = amplitude * m[0], (amplitude * std[0]) ** 2
    return mean, var


def test_the_log_ratio_is_one_of_normal_densities() -> None:
    y, mean, var, R = (np.array(v) for v in ([0.3, -1.0], [0.1, 0.4], [0.5, 0.0], [0.2, 0.1]))
    naive = norm.logpdf(y, mean, np.sqrt(R**2 + var)) - norm.logpdf(y, y, R)
    np.testing.assert_allclose(log_ratio(y, mean, var, R), naive)


def test_members_of_the_mixture_are_joint_densities_and_the_sum_of_their_forecasts() -> None:
    values = some_values(d=2)
    mixture = Mixture.around(SE, start(2))
    found = mixture.log_ratios(values)
    own = norm.logpdf(values.y, values.y, values.noise_bounds).sum()
    for j in (0, 7, 23):
        theta, a = mixture.lengthscales[j], float(mixture.amplitudes[j])
        K = a**2 * covariance(SE, theta, values.X, values.X) + np.diag(values.noise_bounds**2)
        joint = multivariate_normal(np.zeros(len(values)), K).logpdf(values.y)
        assert found[j] == pytest.approx(joint - own)
        mean, var = predictions(theta, a, values)
        step_by_step = log_ratio(values.y, mean, var, values.noise_bounds).sum()
        assert found[j] == pytest.approx(step_by_step)


def test_weights_sum_to_at_most_one_and_the_order_of_telling_does_not_matter() -> None:
    mixture, values = Mixture.around(SE, start()), some_values()
    assert 0.5 < mixture.weights.sum() <= 1
    order = np.random.default_rng(1).permutation(len(values))
    other = Values(values.X[order], values.y[order], values.noise_bounds[order])
    assert mixture.radius_squared(values, DELTA) == pytest.approx(
        mixture.radius_squared(other, DELTA)
    )


def test_what_would_break_the_bound_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="sum to at most 1"):
        radius_squared([0.0, 0.0], np.array([0.7, 0.7]), DELTA)
    with pytest.raises(ConfigurationError, match="failure probability"):
        radius_squared([0.0], np.array([1.0]), 1.0)
    with pytest.raises(ConfigurationError, match="noise bounds"):
        Values(np.zeros((1, 1)), np.zeros(1), np.zeros(1))
    with pytest.raises(ConfigurationError, match="n values"):
        Values(np.zeros((2, 1)), np.zeros(1), np.ones(1))


# -- the supermartingale, exactly --


def mean_factor(f: float, m: float, var: float, R: float, noise: Array) -> float:
    """The mean over equally likely noises of N(y; m, R² + s²)/N(y; f, R²)."""
    y = f + noise
    ratio = log_ratio(y, np.full(len(y), m), np.full(len(y), var), np.full(len(y), R))
    return float(np.mean(np.exp(ratio + 0.5 * (y - f) ** 2 / R**2)))


@pytest.mark.parametrize("noise", ["rademacher", "uniform"])
def test_a_step_multiplies_by_at_most_one_on_average(noise: str) -> None:
    shapes = {"rademacher": np.array([-1.0, 1.0]), "uniform": np.linspace(-1, 1, 401)}
    worst, wrong = 0.0, 0.0
    for f in (-1.0, 0.0, 0.5):
        for m in (-0.5, 0.0, 0.4):
            for var in (0.0, 0.01, 1.0):
                worst = max(worst, mean_factor(f, m, var, 0.3, 0.3 * shapes[noise]))
                wrong = max(wrong, mean_factor(f, m, var, 0.1, 0.3 * shapes[noise]))
    assert worst <= 1 + 1e-12
    assert wrong > 1.5  # negative control: noise above its bound


# -- the band is the extreme over all f of the class within the radius --


def test_no_narrower_band_is_possible_and_none_of_these_functions_leaves_it() -> None:
    values, theta, B = some_values(3), np.array([0.3]), 2.0
    radius_sq = Mixture.around(SE, start()).radius_squared(values, DELTA)
    fine = radius_band(SE, FunctionClass(theta, B), values, radius_sq, np.geomspace(1e-4, 1e4, 200))
    at = np.array([[0.37]])
    upper = float(fine.upper(at)[0])
    which = int(np.argmin([p.predict(at)[0] + w * p.predict(at)[1] for p, w in _parts(fine)]))
    posterior, width = fine.posteriors[which], fine.widths[which]
    # the function at which the bound is attained: μ + width·cov(·, x)/σ(x)
    nodes = np.vstack([values.X, at])
    mean, cov = posterior.joint(nodes)
    extreme = mean + width * cov[:, -1] / math.sqrt(cov[-1, -1])
    assert extreme[-1] == pytest.approx(upper)
    K = covariance(SE, theta, nodes, nodes) + 1e-10 * np.eye(len(nodes))
    norm_sq = float(extreme @ np.linalg.solve(K, extreme))
    residual = float(np.sum(((values.y - extreme[:-1]) / values.noise_bounds) ** 2))
    assert norm_sq <= B**2 * 1.01
    assert residual <= radius_sq * 1.01
    assert max(norm_sq / B**2, residual / radius_sq) >= 0.99


def _parts(band: RadiusBand) -> list[tuple[Posterior, float]]:
    return list(zip(band.posteriors, band.widths, strict=True))


def test_functions_within_radius_and_norm_are_inside() -> None:
    values, theta, B = some_values(4), np.array([0.3]), 2.0
    radius_sq = Mixture.around(SE, start()).radius_squared(values, DELTA)
    band = radius_band(SE, FunctionClass(theta, B), values, radius_sq)
    lower, upper = band.bounds(LINE)
    rng, inside = np.random.default_rng(0), 0
    for seed in range(300):
        f = rkhs_sample(seed, lengthscale=0.3, norm=float(rng.uniform(0.2, B)))
        mixed = rkhs_sample(4, dimension=1, lengthscale=0.3, norm=2.0)
        u = float(rng.uniform(0.3, 1.0))
        g, at_x = u * mixed(LINE) + (1 - u) * f(LINE), u * mixed(values.X) + (1 - u) * f(values.X)
        if np.sum(((values.y - at_x) / values.noise_bounds) ** 2) <= radius_sq:
            inside += 1
            assert np.all((lower - 1e-9 <= g) & (g <= upper + 1e-9))
    assert inside > 20


def test_told_noise_is_the_same_as_rows_divided_by_it() -> None:
    """The naive version in feature space: minimise Σ((y − Φw)/R)² + c‖w‖²."""
    values, theta, c = some_values(5), np.array([0.4]), 0.25
    radius_sq, B = 40.0, 2.0
    band = radius_band(SE, FunctionClass(theta, B), values, radius_sq, [c])
    nodes = np.vstack([values.X, LINE[::10]])
    roots = np.linalg.cholesky(covariance(SE, theta, nodes, nodes) + 1e-10 * np.eye(len(nodes)))
    scaled = roots[: len(values)] / values.noise_bounds[:, None]
    V = scaled.T @ scaled + c * np.eye(len(nodes))
    w = np.linalg.solve(V, scaled.T @ (values.y / values.noise_bounds))
    least = np.sum((values.y / values.noise_bounds - scaled @ w) ** 2) + c * w @ w
    features = roots[len(values) :]
    half = np.sqrt(np.einsum("ij,ji->i", features, np.linalg.solve(V, features.T)))
    half *= math.sqrt(radius_sq + c * B**2 - least)
    middle, width = band.predict(LINE[::10])
    np.testing.assert_allclose(middle, features @ w, atol=1e-6)
    np.testing.assert_allclose(width, half, rtol=1e-5)


def test_the_gradients_are_those_of_the_middle_and_the_half_width() -> None:
    values = some_values(2, d=2)
    band = radius_band(SE, FunctionClass(np.array([0.3, 0.5]), 2.0), values, 50.0)
    A, eps = np.random.default_rng(0).random((5, 2)), 1e-6
    middle, half, d_middle, d_half = band.predict_gradients(A)
    np.testing.assert_allclose((middle, half), band.predict(A), atol=1e-9)
    for j in range(2):
        step = eps * np.eye(2)[j]
        up, down = band.predict(A + step), band.predict(A - step)
        np.testing.assert_allclose(d_middle[:, j], (up[0] - down[0]) / (2 * eps), atol=1e-5)
        np.testing.assert_allclose(d_half[:, j], (up[1] - down[1]) / (2 * eps), atol=1e-5)


@pytest.mark.parametrize("kernel", [SE, Matern(2.5)])
def test_never_wider_than_the_union_over_a_grid_of_kernels(kernel: Kernel) -> None:
    """A member of weight w and amplitude 1 is the mixture width at δ·w, at c = 1: any member."""
    values, R = some_values(6, n=20), 0.1
    values = equal_values(values.X, values.y, R)
    mixture = Mixture(
        kernel, np.array([[1.0], [0.5], [0.25]]), np.ones(3), np.array([0.5, 0.3, 0.2])
    )
    radius_sq = mixture.radius_squared(values, DELTA)
    for theta, weight in zip(mixture.lengthscales, mixture.weights, strict=True):
        new = radius_band(kernel, FunctionClass(theta, 2.0), values, radius_sq, [1.0]).widths[0]
        gain = condition(kernel, theta, values.X, values.y, R**2).information_gain
        old = confidence.mixture(
            2.0, gain, noise_bound=R, regulariser=R**2, delta=DELTA * float(weight)
        )
        assert new <= old + 1e-9


@pytest.mark.parametrize("d", [1, 3, 24])
def test_a_class_between_members_costs_little_more_than_the_next_shorter_one(d: int) -> None:
    """A4 with the members, the amplitudes and the grid of the code: s = 1 up to 21 inputs. The
    members at least as short as each class are looked for one by one.
    """
    rng, R, B = np.random.default_rng(d), 0.1, 2.0
    X = rng.random((15, d))
    values = equal_values(X, np.sin(X @ rng.normal(size=d) * 3) + R * rng.standard_normal(15), R)
    mixture = Mixture.around(SE, FunctionClass(np.full(d, 1.0), 1.0))
    radius_sq = mixture.radius_squared(values, DELTA)
    for k in range(4 * (LENGTHS - 1) + 1):
        theta = np.full(d, 2.0 ** (-k / FINENESS))
        posterior = condition(SE, theta, X, values.y, R**2)
        K = covariance(SE, theta, X, X)
        alpha = np.linalg.solve(K + R**2 * np.eye(15), values.y)
        beta = radius_sq + B**2 - values.y @ alpha
        shorter = np.flatnonzero(np.all(mixture.lengthscales <= theta * (1 + 1e-9), axis=1))
        ratio = np.prod(theta / mixture.lengthscales[shorter], axis=1)
        s = np.maximum(ratio / mixture.amplitudes[shorter] ** 2, 1.0)
        j = shorter[np.argmin(s)]
        assert s.min() <= max(1.0, 2 ** (3 * d / 8 - 8)) * (1 + 1e-9)
        own = covariance(SE, mixture.lengthscales[j], X, X) * mixture.amplitudes[j] ** 2
        gain = 0.5 * np.linalg.slogdet(np.eye(15) + own / R**2)[1]
        paid = (s.min() - 1) * alpha @ K @ alpha  # ‖μ‖²
        assert beta <= B**2 + 2 * gain - 2 * math.log(DELTA * mixture.weights[j]) + paid + 1e-8
        assert posterior.z @ posterior.z == pytest.approx(values.y @ alpha)


# -- a class can be refuted --


def test_the_norm_bound_is_the_supremum_over_c_and_the_least_norm_within_the_radius() -> None:
    values, theta = some_values(7, noise=0.05), np.array([0.5])
    radius_sq = Mixture.around(SE, start()).radius_squared(values, DELTA)
    found = norm_lower_bound(SE, theta, values, radius_sq)
    naive = 0.0
    for c in np.geomspace(1e-6, 1e6, 400):
        p = condition(SE, theta, values.X, values.y, c * values.noise_bounds**2)
        naive = max(naive, float(p.z @ p.z) - radius_sq / c)
        mean = p.predict(values.X)[0]
        if np.sum(((values.y - mean) / values.noise_bounds) ** 2) <= radius_sq:
            assert found**2 <= p.weights @ mean * (1 + 1e-6)  # ‖μ_c‖², which keeps within
    assert found == pytest.approx(math.sqrt(naive), rel=1e-3)
    assert norm_lower_bound(SE, theta, values, 1e9) == 0.0


def test_a_class_below_the_bound_is_refuted_and_one_above_is_not() -> None:
    values, theta = some_values(8, noise=0.02), np.array([0.5])
    radius_sq = Mixture.around(SE, start()).radius_squared(values, DELTA)
    least = norm_lower_bound(SE, theta, values, radius_sq)
    fine = np.geomspace(1e-4, 1e4, 60)
    below = radius_band(SE, FunctionClass(theta, 0.9 * least), values, radius_sq, fine)
    above = radius_band(SE, FunctionClass(theta, 1.01 * least), values, radius_sq, fine)
    assert below.refuted
    assert not above.refuted


# -- joint coverage: all times and all points at once, adaptive designs --


@dataclass(frozen=True)
class Run:
    """How much of the band, of the certificate and of the norm bound was needed: at most 1 each."""

    band: float
    certificate: float
    norm: float
    stopped: float | None  # what the certificate needed at which the run would have stopped


def draw(rng: np.random.Generator, noise: str, R: float) -> float:
    if noise == "gaussian":
        return R * float(rng.standard_normal())
    return R * float(rng.choice([-1.0, 1.0]) if noise == "rademacher" else rng.uniform(-1, 1))


def small_mixture(d: int) -> Mixture:
    theta = np.repeat([1.0, 0.5, 0.25], 2)[:, None] * np.ones(d)
    return Mixture(SE, theta, np.tile([1.0, 0.25], 3), np.full(6, 1 / 6))


@cache
def simulated(seed: int, d: int, noise: str, R: float, told: str = "none", workers: int = 1) -> Run:
    """UCB on the radius band from three points on; certificates at every second look."""
    theta, B, steps = np.full(d, {1: 0.2, 2: 0.4, 3: 0.6}[d]), 1.5, 24
    f = rkhs_sample(seed, dimension=d, lengthscale=float(theta[0]), norm=B)
    rng = np.random.default_rng([seed, d])
    grid = LINE if d == 1 else rng.random((250, d))
    truth, top = f(grid), f.maximum
    X, y, bounds = np.empty((0, d)), np.empty(0), np.empty(0)
    pending: list[tuple[Array, float, float]] = []
    worst = [0.0, 0.0, 0.0]
    stopped = None
    x = rng.random(d)
    for step in range(steps):
        said = R
        if told == "before":  # known before the value
            said = R * float(rng.uniform(1, 3))
        value = float(f(x)) + draw(rng, noise, said)
        if told == "repeats":  # the standard error of two repeats, taken for a bound
            two = [float(f(x)) + draw(rng, noise, R * math.sqrt(2)) for _ in range(2)]
            value, said = float(np.mean(two)), max(abs(two[0] - two[1]) / 2, 1e-3 * R)
        pending.append((x, value, said))
        if len(pending) >= workers:
            at, v, r = pending.pop(0)
            X, y, bounds = np.vstack([X, at]), np.append(y, v), np.append(bounds, r)
        if len(y) < 3:
            x = rng.random(d)
            continue
        values = Values(X, y, bounds)
        radius_sq = small_mixture(d).radius_squared(values, DELTA)
        band = radius_band(SE, FunctionClass(theta, B), values, radius_sq)
        middle, half = band.predict(grid)
        worst[0] = max(worst[0], float(np.max(np.abs(truth - middle) / np.maximum(half, 1e-12))))
        worst[2] = max(worst[2], norm_lower_bound(SE, theta, values, radius_sq) / B)
        if step % 4 == 3:
            lower = band.bounds(X)[0]
            best = int(np.argmax(lower))
            whole = covered(BoundedFunction(band.upper, SE, theta, B), 0.02, -math.inf)
            assert whole.proved
            left = max(whole.upper - float(lower[best]), 1e-12)
            needed = (top - float(f(X[best]))) / left
            worst[1] = max(worst[1], needed)
            if stopped is None and left < 0.75:
                stopped = needed
        shown = band
        if pending:  # points under way narrow what is asked next, and never the band
            added = np.array([at for at, _, _ in pending])
            shown_values = Values(
                np.vstack([X, added]),
                np.append(y, band.predict(added)[0]),
                np.append(bounds, np.full(len(added), R)),
            )
            shown = radius_band(SE, FunctionClass(theta, B), shown_values, radius_sq)
        x = grid[int(np.argmax(shown.upper(grid)))]
    return Run(worst[0], worst[1], worst[2], stopped)


def significantly_below(successes: int, trials: int, level: float) -> bool:
    return bool(binomtest(successes, trials, level, alternative="less").pvalue < 1e-3)


RUNS = 24
SETTINGS = [
    (1, "gaussian", 0.01),
    (1, "rademacher", 0.1),
    (1, "uniform", 0.3),
    (2, "gaussian", 0.3),
    (2, "rademacher", 0.03),
    (3, "uniform", 0.1),
]


@pytest.mark.parametrize(("d", "noise", "R"), SETTINGS)
def test_bands_certificates_and_norm_bounds_hold_at_all_times(d: int, noise: str, R: float) -> None:
    runs = [simulated(seed, d, noise, R) for seed in range(RUNS)]
    assert sum(run.norm <= 1 + 1e-9 for run in runs) >= (1 - DELTA) * RUNS
    hold_and_fail_shrunk(runs)


def hold_and_fail_shrunk(runs: list[Run]) -> None:
    """Band and certificate cover jointly; a fifth of the band and a twentieth of the certificate do
    not.
    """
    held = sum(max(run.band, run.certificate) <= 1 + 1e-9 for run in runs)
    assert not significantly_below(held, len(runs), 1 - DELTA)
    assert held >= (1 - DELTA) * len(runs)
    fifth = sum(run.band <= 0.2 for run in runs)
    twentieth = sum(run.certificate <= 0.05 for run in runs)
    assert significantly_below(fifth, len(runs), 1 - DELTA)
    assert significantly_below(twentieth, len(runs), 1 - DELTA)


def test_a_run_stopped_by_its_certificate_is_within_it() -> None:
    runs = [simulated(seed, 1, "gaussian", 0.01) for seed in range(RUNS)]
    stopped = [run.stopped for run in runs if run.stopped is not None]
    assert len(stopped) >= RUNS // 2
    assert all(needed <= 1 for needed in stopped)
    hundredth = sum(needed <= 0.01 for needed in stopped)  # they stop near the optimum
    assert significantly_below(hundredth, len(stopped), 1 - DELTA)


def test_noise_told_before_the_value_keeps_the_band_and_a_standard_error_does_not() -> None:
    before = [simulated(seed, 1, "gaussian", 0.1, "before") for seed in range(RUNS)]
    after = [simulated(seed, 1, "gaussian", 0.1, "repeats") for seed in range(RUNS)]
    hold_and_fail_shrunk(before)
    assert significantly_below(sum(run.band <= 1 for run in after), RUNS, 1 - DELTA)


def test_four_workers_keep_band_and_certificate() -> None:
    runs = [simulated(seed, 1, "gaussian", 0.1, "none", 4) for seed in range(RUNS)]
    hold_and_fail_shrunk(runs)


# -- how much narrower --


def half_widths(n: int, R: float, B: float) -> tuple[float, float]:
    """Mean over 20 functions: the mixture width at δ·w_j, θ_0 = 1, grid 1.1^j; and the radius."""
    theta = np.array([0.2])
    j = math.ceil(math.log(1 / 0.2) / math.log(1.1))
    old, new = [], []
    for seed in range(20):
        f, rng = rkhs_sample(seed, lengthscale=0.2, norm=B), np.random.default_rng([seed, n])
        X = rng.random((n, 1))
        values = equal_values(X, f(X) + R * rng.standard_normal(n), R)
        posterior = condition(SE, theta, X, values.y, R**2)
        width = confidence.mixture(
            B,
            posterior.information_gain,
            noise_bound=R,
            regulariser=R**2,
            delta=DELTA * 6 / (math.pi**2 * (j + 1) ** 2),  # w_j, theory.md#grid
        )
        old.append(width * posterior.predict(LINE)[1].mean())
        mixture = Mixture.around(SE, FunctionClass(np.array([1.0]), B))
        radius_sq = mixture.radius_squared(values, DELTA)
        band = radius_band(SE, FunctionClass(theta, B), values, radius_sq, SCALES)
        new.append(band.predict(LINE)[1].mean())
    return float(np.mean(old)), float(np.mean(new))


@pytest.mark.parametrize(("n", "R"), [(15, 0.1), (15, 0.02), (40, 0.1), (40, 0.02)])
def test_the_band_is_narrower_than_the_union_over_the_grid(n: int, R: float) -> None:
    """By a quarter where the norm is 1; less where the norm is large beside the noise."""
    old, new = half_widths(n, R, 1.0)
    assert new <= 0.75 * old
    old, new = half_widths(n, R, 2.0)
    assert new <= 0.9 * old
