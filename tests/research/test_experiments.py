"""The quick version of each figure, and the claims that are stable at that size; then the page made
of them.
"""

import importlib
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from docs.making import reproduction as page
from noregret.errors import NoRegretError
from research.paper import FIGURES
from research.paper.mnist import FILES
from research.paper.runner import Job, Options, read_log, reproduce
from tests.research.test_mnist import digits, idx

# the smallest sizes at which the claims below are stable
SMALLER: dict[str, dict[str, int]] = {
    "fig1": {"seeds": 3},
    "fig4": {"seeds": 2},
    "fig5": {"seeds": 2},
    "fig6": {"seeds": 1, "iterations": 5},
    "errata": {"seeds": 1},
}
pytestmark = pytest.mark.xdist_group("experiments")  # one process: the results are shared


@pytest.fixture(scope="session")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("reproduction")


@pytest.fixture(scope="module", autouse=True)
def own_home(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Figure 6 caches its trainings in the user's cache folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
        yield


def compute(name: str, out: Path, **more: Any) -> dict[str, Any]:
    return reproduce(
        importlib.import_module(f"research.paper.{name}"),
        Options(out, quick=True, **{**SMALLER.get(name, {}), **more}),
        workers=1,
        progress=False,
    )


def synthetic_mnist(folder: Path) -> Path:
    for name, count, seed, shape in zip(
        FILES, (5000, 5000, 300, 300), (1, 1, 2, 2), (True, False, True, False), strict=True
    ):
        images, labels = digits(count, 784, seed)
        (folder / name).write_bytes(idx(images.reshape(-1, 28, 28) if shape else labels))
    return folder


def test_figure_1(out: Path) -> None:
    summary = compute("fig1", out)
    assert summary["stuck"] >= 1
    shown = summary["shown_seed"]
    assert summary["stuck_starts"][shown]
    assert summary["posterior_share_above_true"][shown] > 0.5
    assert summary["share_of_grid_missed"][shown] > 0


def test_figure_2(out: Path) -> None:
    moments = compute("fig2", out)["moments"]
    assert moments["stuck"]["share_of_f_outside_band"] > 0.1
    assert moments["stuck"]["next_x"] > 0.8
    assert moments["widened"]["next_x"] < 0.6
    assert (
        moments["stuck"]["lengthscale"]
        > moments["widened"]["lengthscale"]
        > moments["found"]["lengthscale"]
    )


def test_figure_3(out: Path) -> None:
    summary = compute("fig3", out)
    assert 1 < summary["norm_growth"] <= summary["lemma_allows"] < summary["paper_allows"]
    assert summary["norm_at_theta_0"] > 2.0  # outside B_0
    assert summary["norm_at_theta_t"] <= summary["ball_tight"] <= summary["ball_paper"]
    regret = {name: row["cumulative_regret"]["mean"] for name, row in summary["methods"].items()}
    assert regret["GP-UCB (true)"] < regret["A-GP-UCB (one step)"]


def test_figure_4(out: Path) -> None:
    summary = compute("fig4", out)
    methods = summary["methods"]
    assert methods["A-GP-UCB (one step)"]["stuck"] == 0
    assert methods["GP-UCB (true)"]["stuck"] == 0
    assert methods["κ rule (Wang & de Freitas)"]["stuck"] == 0
    assert methods["GP-UCB (MAP)"]["stuck"] + methods["GP-UCB (HMC)"]["stuck"] >= 1
    regret = {name: row["cumulative_regret"]["mean"] for name, row in methods.items()}
    assert max(regret, key=regret.__getitem__) == "κ rule (Wang & de Freitas)"
    assert regret["GP-UCB (true)"] < min(
        regret["A-GP-UCB (one step)"], regret["A-GP-UCB (bound, anchored)"]
    )
    rows = (out / "fig4" / "curves.csv").read_text(encoding="utf-8").splitlines()
    assert rows[0] == "method,seed,quantity,index,value"
    assert len(rows) > 2 * 7 * 80
    assert (out / "fig4" / "fig4.png").stat().st_size > 20_000
    assert (out / "fig4" / "fig4.pdf").read_bytes().startswith(b"%PDF")


def test_figure_5(out: Path) -> None:
    methods = compute("fig5", out)["methods"]
    assert methods["GP-UCB (misspecified)"]["stuck"] >= 1
    assert methods["A-GP-UCB (one step)"]["stuck"] == 0


def test_figure_6(out: Path, tmp_path: Path) -> None:
    summary = compute("fig6", out, mnist=synthetic_mnist(tmp_path))
    assert set(summary["methods"]) == {
        "GP-UCB (MAP)",
        "GP-UCB (HMC)",
        "A-GP-UCB (one step)",
        "A-GP-UCB (bound, anchored)",
    }
    for row in summary["methods"].values():
        assert 0 <= row["simple_regret"]["mean"] < 2.5
        assert row["best_loss"][0] < math.log(10)  # better than guessing


def test_figure_6_without_data_says_what_to_do(out: Path, tmp_path: Path) -> None:
    with pytest.raises(NoRegretError, match="train-images"):
        compute("fig6", tmp_path, mnist=tmp_path)


def test_errata(out: Path) -> None:
    summary = compute("errata", out)
    coverage = summary["coverage"]
    n = 20  # functions
    assert coverage["random design at σ = 0.01"]["paper"] < 0.5 * n
    assert coverage["random design at σ = 0.5"]["paper"] > 0.8 * n
    assert all(row["mixture"] > 0.9 * n == 0.9 * row["functions"] for row in coverage.values())
    assert 100 <= summary["bound_estimator_starts"]["0.01"][0] <= 140  # theory.md#anchored: 119
    assert summary["anchored_estimator_starts"]["0.01"] == [2]
    assert summary["norm_ratio_of_a_flat_function_at_g_2"] == pytest.approx(math.sqrt(2), rel=0.02)
    assert summary["worst_variance_change"]["SE"] > -1e-10
    assert 8000 < summary["log_schedule"]["capture_time_ratio_10"] < 8200
    appendix = summary["appendix"]
    assert appendix["alpha_exponent"] == pytest.approx(1, abs=1e-3)
    assert appendix["tail_over_alpha_to_minus_d"] == pytest.approx(1, abs=1e-6)
    assert appendix["matern_tail_exponent"]["d=1"] == pytest.approx(3, abs=0.01)  # 2ν
    assert appendix["matern_tail_exponent"]["d=2"] == pytest.approx(3, abs=0.1)
    assert appendix["log_lemma_fails_plain"] == 0 < appendix["log_lemma_fails_squared"]
    assert min(summary["widths"]["widths_over_printed"]) > 1
    assert max(summary["widths"]["widths_over_bound_with_t"]) < 1


def test_a_killed_run_goes_on_where_it_stopped(tmp_path: Path) -> None:
    first = compute("fig5", tmp_path, seeds=1, iterations=6)
    log = tmp_path / "fig5" / "results.jsonl"
    lines = log.read_text(encoding="utf-8").splitlines()
    log.write_text(
        "\n".join([*lines[:3], lines[3][: len(lines[3]) // 2]]), encoding="utf-8"
    )  # killed while writing the fourth
    assert len(read_log(log)) == 3
    log.write_text(log.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    marked = json.loads(lines[0])
    marked["result"]["seconds"] = 1e6  # a kept result is not computed again
    log.write_text(
        "\n".join([json.dumps(marked), *lines[1:3], lines[3][:40]]) + "\n", encoding="utf-8"
    )
    second = compute("fig5", tmp_path, seeds=1, iterations=6)
    assert second["methods"] == first["methods"]
    assert second["seconds"] > 1e6


def test_jobs_are_named_by_all_that_changes_them() -> None:
    a, b = Job("m", 1, 10, 0.05), Job("m", 1, 10, 0.06)
    assert a.key != b.key
    assert Job("m", 1, 10, 0.05, mnist="here").key == Job("m", 1, 10, 0.05, mnist="there").key


def test_the_page_is_made_of_the_results(out: Path, tmp_path: Path) -> None:
    for name in FIGURES:  # read from disk where an earlier test computed them
        more = {"mnist": synthetic_mnist(tmp_path)} if name == "fig6" else {}
        compute(name, out, **more)
    page.main(out, tmp_path, tmp_path / "summaries.json")
    text = (tmp_path / "reproduction.md").read_text(encoding="utf-8")
    for name in FIGURES:
        assert f"figures/{name}.png" in text
        assert (tmp_path / "figures" / f"{name}.png").exists()
    assert text.count("| **") >= 30
    assert "nan" not in text
    summary = json.loads((out / "fig4" / "summary.json").read_text(encoding="utf-8"))
    claims = (tmp_path / "claims.md").read_text(encoding="utf-8")
    assert f"{summary['methods']['GP-UCB (true)']['cumulative_regret']['mean']:.3g}" in claims
    assert set(json.loads((tmp_path / "summaries.json").read_text(encoding="utf-8"))) == {*FIGURES}
    assert "Not computed" in page.page({})


def test_the_committed_page_names_every_figure() -> None:
    docs = Path(__file__).parents[2] / "docs"
    text = (docs / "reproduction.md").read_text(encoding="utf-8")
    for name in FIGURES:
        assert (docs / "figures" / f"{name}.png").exists()
        assert f"noregret research reproduce {name}" in text
    quick = [line for line in text.splitlines() if line.startswith("`") and "--quick" in line]
    assert all("reproduce fig6" in line for line in quick)  # the others from the full runs
    assert np.all(
        [verdict in text for verdict in ("**holds**", "**holds with a change", "**does not hold")]
    )
