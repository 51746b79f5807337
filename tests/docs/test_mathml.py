"""Formulas of the documentation site."""

import pytest

from tests.components import needed

markdown, mathml = needed("markdown", "docs"), needed("docs.making.mathml", "docs")
formula, raised = mathml.formula, mathml.raised


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("θ_t = θ_0/g", "θ<sub>t</sub> = θ<sub>0</sub>/g"),
        ("2β_t^½σ_t(x_{t+1})", "2β<sub>t</sub><sup>½</sup>σ<sub>t</sub>(x<sub>t+1</sub>)"),
        ("‖f‖_{θ_t} ≤ B_t", "‖f‖<sub>θ<sub>t</sub></sub> ≤ B<sub>t</sub>"),
        ("t^(d/(2ν+d)) and t^0.9.", "t<sup>d/(2ν+d)</sup> and t<sup>0.9</sup>."),
        ("k_θ', θ'_i and θ_t,i", "k<sub>θ'</sub>, θ'<sub>i</sub> and θ<sub>t,i</sub>"),
        (
            "noise_std, x_iters, log_ei and t^−decay stay",
            "noise_std, x_iters, log_ei and t^−decay stay",
        ),
    ],
)
def test_sub_and_superscripts(text: str, expected: str) -> None:
    assert raised(text) == expected


def test_code_is_left_alone() -> None:
    html = markdown.markdown(
        "θ_t, `θ_t` and **B_0**\n\n    t^(1/2)", extensions=["docs.making.mathml"]
    )
    assert html.count("<sub>") == 2
    assert "<code>θ_t</code>" in html
    assert "t^(1/2)" in html


def test_a_formula_is_mathml() -> None:
    assert "<math" in formula(r"\frac{1}{2}")
    assert "<mfrac>" in formula(r"\frac{1}{2}")
