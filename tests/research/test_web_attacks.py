"""The attacks on the page's server: what is measured is on the page, and tables are tables."""

from collections import Counter

from research.benchmarks.web_attacks import ATTACKS, BEGIN, END, PAGE, _said, table


def test_every_attack_is_on_the_page() -> None:
    shown = PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]
    for name, _, count in ATTACKS:
        assert f"| {name} | {count} |" in shown


def test_tables() -> None:
    assert _said(Counter({"413": 2, "200": 1})) == "1 × 200, 2 × 413"
    lines = table([("none", "", "", "9 MB", "0.1 s", "")]).splitlines()
    assert len({line.count("|") for line in lines}) == 1
