"""Printed outputs are compared by value; those that differ are written again."""

from pathlib import Path

import pytest

from docs.making.printed import close, differences, rewritten, session_differences


@pytest.mark.parametrize(
    ("printed", "expected", "agree"),
    [
        ("0.01031", "0.010317029668634188", True),
        ("0.0109", "0.010317029668634188", False),
        ("95%", "94%", True),
        ("95%", "63%", False),
        ("5", "6", False),  # a whole number is a count
        ("12.4", "12.5", True),  # its last digit
        ("12.3", "12.5", False),
        ("1.1e-04", "0.0001005", True),  # the error of an optimum
        ("4.1e-04", "0.0001005", False),
        ("−0.5", "-0.5", True),
    ],
)
def test_numbers_agree_to_the_digits_that_are_stable(
    printed: str, expected: str, agree: bool
) -> None:
    assert close(printed, expected) is agree


def test_texts_agree_word_by_word() -> None:
    assert differences("best  1.50 at trial 3, in 2.1 s", "best 1.5 at trial 3, in 0.4 s") == []
    assert differences("best 1.50 at trial 3", "best 1.5 at trial 4") == [
        "printed 3, the page says 4"
    ]
    assert differences("kernel: 7%", "kernel: 79%") == ["printed 7%, the page says 79%"]
    assert len(differences("worst 1.5", "best 1.5")) == 1
    assert session_differences("run --workers 2", "best 1 at 3", "best 9 at 1") == []


def test_a_stale_output_is_written_again(tmp_path: Path) -> None:
    page = "```python\nprint(0.5 + 0.25)\n```\n\n```text\n0.9\n```\n\nText, 0.9.\n"
    said: list[str] = []
    assert rewritten(page, said.append) == page.replace("0.9\n```", "0.75\n```")
    assert said == ["printed 0.75, the page says 0.9"]
    command = "$ noregret research theory rates --kernel matern:2.5 --dimension 2\n"
    session = f"```console\n$ pip install .\n{command}old\n```\n"
    new = rewritten(session, said.append)
    assert new.startswith(f"```console\n$ pip install .\n{command}")
    assert "old" not in new
    assert rewritten(new, said.append) == new
