"""A component that is missing is a failure in CI, and a reason to skip elsewhere."""

import re
from pathlib import Path

import pytest

from tests import components

TESTS = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize(
    "look",
    [
        lambda: components.needed("noregret_has_no_such_module", "frame"),
        lambda: components.program("noregret-has-no-such-program", "it"),
    ],
)
def test_a_missing_component_is_skipped_but_not_in_ci(
    monkeypatch: pytest.MonkeyPatch, look: object
) -> None:
    assert callable(look)
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match="install"):
        look()
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="install"):
        look()


def test_what_is_there_is_found() -> None:
    assert components.needed("json", "nothing").loads("1") == 1
    assert components.program("sh", "the shell").endswith("sh")


def test_no_test_skips_by_itself() -> None:
    """Only by `missing`, so that CI has no skipped test of ours."""
    skips = re.compile(r"pytest\.(skip|importorskip|mark\.skip|mark\.skipif)\b|SkipTest\(")
    own = (Path(components.__file__), Path(__file__))
    found = [
        f"{file.relative_to(TESTS)}: {line.strip()}"
        for file in sorted(TESTS.rglob("*.py"))
        if file not in own
        for line in file.read_text(encoding="utf-8").splitlines()
        if skips.search(line)
    ]
    assert not found
