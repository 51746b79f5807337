"""Every Python block of the README and of the documentation runs as printed, as a script of its
own; the README's first is at most ten lines.
"""

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = {"README.md": ROOT / "README.md"} | {
    path.relative_to(ROOT / "docs").as_posix(): path
    for path in sorted((ROOT / "docs").rglob("*.md"))
}
BLOCKS = {
    f"{name}-{index}": block
    for name, page in PAGES.items()
    for index, block in enumerate(
        re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    )
}


@pytest.mark.parametrize("name", BLOCKS)
def test_block_runs(
    name: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("block.py").write_text(BLOCKS[name], encoding="utf-8")
    runpy.run_path("block.py", run_name="__main__")
    if "print" in BLOCKS[name]:
        assert capsys.readouterr().out.strip()


def test_the_first_example_is_short() -> None:
    assert 0 < len(BLOCKS["README.md-0"].strip().splitlines()) <= 10
    assert sum(name.startswith("README") for name in BLOCKS) >= 4
    assert any(name.startswith("storage") for name in BLOCKS)
    assert any(name.startswith("tutorials/") for name in BLOCKS)
