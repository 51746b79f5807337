"""Every Python block of the README runs as printed, and the first is at most ten lines."""

import re
from pathlib import Path

import pytest

README = Path(__file__).parent.parent / "README.md"
BLOCKS = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), flags=re.DOTALL)


@pytest.mark.parametrize("index", range(len(BLOCKS)))
def test_block_runs(index: int, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(BLOCKS[index], f"README block {index}", "exec"), {})
    if "print" in BLOCKS[index]:
        assert capsys.readouterr().out.strip()


def test_the_first_example_is_short() -> None:
    assert 0 < len(BLOCKS[0].strip().splitlines()) <= 10
    assert len(BLOCKS) >= 4
