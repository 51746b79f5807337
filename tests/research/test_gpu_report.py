"""The page of the GPU benchmark, from a result."""

from typing import Any

import pytest

import noregret as nr
from research.benchmarks import gpu


def line(what: str, *numbers: int, **values: Any) -> dict[str, Any]:
    return {"what": what, "numbers": list(numbers), **values}


def result(mean: float) -> dict[str, Any]:
    asks = {"warm": 0.2, "first": 2.5, "memory": 1.4}
    return {
        "device": "cuda",
        "lines": [
            line("about", gpu="A GPU", torch="2"),
            line("asks", 60_000, 20, mean=1.0, **asks),
            line("asks", 10_000, 20, mean=mean, **asks),
            line("sweep", 1_000_000, 1_000, median=0.06),
            line("agreement", 600, 4, apart=3e-14),
            line("agreement", 1_500, 4, apart=2e-12),
            line("botorch", 10_000, ask=0.43, fit=15.5, memory=11.0),
            line("botorch", 60_000, memory=116.0, **{"ask error": "OutOfMemoryError: CUDA"}),
        ],
    }


def test_the_page_says_what_was_met_and_what_was_not() -> None:
    text = gpu.section(result(0.22))
    assert "| 10,000 trials: a warm ask | 0.2 s |  | 0.43 s |" in text
    assert "| 0.22 s | 0.3 s: met | a fit 16 s |" in text
    assert "| 1 s | 5 s: met | out of memory |" in text
    assert "| 0.06 s | 0.05 s: missed | – |" in text
    assert "at most 2e-12" in text
    assert text.index("10,000 trials") < text.index("60,000 trials")
    assert "| 0.31 s | 0.3 s: missed |" in gpu.section(result(0.31))


def test_a_later_measurement_replaces_the_same_line() -> None:
    later = {"device": "cuda", "lines": [line("sweep", 1_000_000, 1_000, median=0.04)]}
    text = gpu.section(gpu.merged([result(0.22), later]))
    assert "| 0.04 s | 0.05 s: met |" in text
    assert "0.06" not in text


def test_a_line_that_fails_is_kept_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    found = gpu.measured("no such device", "asks", [10, 1], 60.0)
    assert "ConfigurationError" in found["fault"]
    assert nr.use_device("cpu") == "cpu"
