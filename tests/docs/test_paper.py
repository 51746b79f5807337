"""The theory as a PDF: its references, its page, and what is said where no browser is."""

from pathlib import Path

import pytest

from tests.components import needed, program

needed("markdown", "docs")
paper = needed("docs.making.paper", "docs")
SOURCE = (paper.DOCS / "theory.md").read_text(encoding="utf-8")
WORKS = paper.works((paper.DOCS / "making" / "theory.bib").read_text(encoding="utf-8"))


def test_every_reference_is_cited_and_complete() -> None:
    assert len(WORKS) >= 15
    assert len({work.key for work in WORKS}) == len(WORKS)
    for work in WORKS:
        assert work.families[0] in SOURCE, work.key
        assert {"author", "title", "year"} <= set(work.fields), work.key
        assert "journal" in work.fields or "booktitle" in work.fields, work.key
        assert "None" not in work.reference
        assert "{" not in work.reference


def test_an_entry_is_read() -> None:
    (work,) = paper.works(
        "@article{a1, author = {Doe, Jane and Roe, Al}, title = {On {RKHS}}, journal = {J},"
        " volume = {3}, pages = {1--2}, year = {2001}}\n"
    )
    assert work.families == ["Doe", "Roe"]
    assert work.reference == "Doe, Jane; Roe, Al (2001). On RKHS. J 3: 1–2."


def test_formulas_are_set_and_links_are_absolute() -> None:
    html = paper.page(
        "# T\n\n[d](default.md) [s](#s)\n\n```math\n\\frac{1}{2}\n```\n\nθ_0\n", WORKS
    )
    assert "<mfrac>" in html
    assert "θ<sub>0</sub>" in html
    assert f'href="{paper.SITE}default.md"' in html
    assert 'href="#s"' in html
    assert html.count("<p>") >= len(WORKS)


def test_it_is_printed(tmp_path: Path) -> None:
    program("chromium", "the package chromium")
    paper.main(tmp_path / "theory.pdf")
    content = (tmp_path / "theory.pdf").read_bytes()
    assert content.startswith(b"%PDF")
    assert len(content) > 300_000


def test_without_a_browser_it_says_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CHROMIUM", str(tmp_path / "none"))
    paper.main(tmp_path / "theory.pdf")
    assert "needs Chromium" in capsys.readouterr().out
    assert not (tmp_path / "theory.pdf").exists()
