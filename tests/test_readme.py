"""Every Python block of the README and of the documentation runs as printed; the README's first is at most ten lines."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCKS = {
    f"{page.name}-{index}": block
    for page in PAGES
    for index, block in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL))
}


@pytest.mark.parametrize("name", BLOCKS)
def test_block_runs(name: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(BLOCKS[name], name, "exec"), {})
    if "print" in BLOCKS[name]:
        assert capsys.readouterr().out.strip()


def test_the_first_example_is_short() -> None:
    assert 0 < len(BLOCKS["README.md-0"].strip().splitlines()) <= 10
    assert sum(name.startswith("README") for name in BLOCKS) >= 4
    assert any(name.startswith("storage") for name in BLOCKS)
