"""A strategy of another package: found by its entry point, stored, reopened, run from the shell and
shown on the page. The package is the one of docs/extending.md, as printed there.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "extending.md").read_text(encoding="utf-8")


@pytest.fixture
def package(tmp_path: Path) -> dict[str, str]:
    """``bowls`` as pip would install it: a module and its metadata on the path."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    code = next(block for block in blocks if "class BowlSearch" in block)
    code = code[: code.index("class TestBowlSearch")].replace("@register\n", "")
    points = re.search(r"```toml\n(.*?)```", PAGE, flags=re.DOTALL)
    assert points is not None
    assert '[project.entry-points."noregret.strategies"]\nbowl = "bowls:BowlSearch"' in points[1]
    folder = tmp_path / "site"
    (folder / "bowls-1.0.dist-info").mkdir(parents=True)
    (folder / "bowls.py").write_text(code, encoding="utf-8")
    (folder / "bowls-1.0.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: bowls\nVersion: 1.0\n"
    )
    (folder / "bowls-1.0.dist-info" / "entry_points.txt").write_text(
        "[noregret.strategies]\nbowl = bowls:BowlSearch\n"
    )
    path = os.pathsep.join([str(folder), *(p for p in sys.path if p)])
    return {**os.environ, "PYTHONPATH": path, "NOREGRET_STORAGE": str(tmp_path / "own.db")}


def run(environment: dict[str, str], *words: str) -> str:
    done = subprocess.run(
        [sys.executable, *words], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_from_the_shell(package: dict[str, str]) -> None:
    space = ("--float", "x", "0", "1", "--float", "y", "0", "1")
    create = ("create", "lab", *space, "--goal", "maximize", "--strategy", "bowl")
    run(package, "-m", "noregret", *create)
    for number in range(6):
        run(package, "-m", "noregret", "ask")
        run(package, "-m", "noregret", "tell", str(number), str(-((number - 3) ** 2)))
    shown = run(package, "-m", "noregret", "show")
    assert "BowlSearch" in shown or "bowl" in shown
    assert "all as they are recorded" in run(package, "-m", "noregret", "research", "replay")
    assert "recommended" in run(package, "-m", "noregret", "show")


def test_reopened_and_shown_on_the_page(package: dict[str, str]) -> None:
    code = """
import noregret as nr, os
from bowls import BowlSearch
study = nr.Study.create("lab", {"x": nr.Float(0, 1)}, "maximize", BowlSearch(0.2))
study.run(lambda p: -((p["x"] - 0.3) ** 2), 6)
"""
    run(package, "-c", code)
    code = """
import sys
import noregret as nr
assert "bowls" not in sys.modules
study = nr.Study.open("lab")
assert type(study.strategy).__module__ == "bowls" and study.strategy.lengthscale == 0.2
print(study.ask().params)
import re
from starlette.testclient import TestClient
from noregret.storage import SQLStorage
from noregret.web.app import create_app
from noregret.web.security import Access
app = create_app(SQLStorage(), Access(False, None, "127.0.0.1"))
if __name__ == "__main__":
    with TestClient(app, base_url="http://127.0.0.1:8080") as client:
        where = re.search(r'/studies/[^"]+', client.get("/").text)[0]
        page = client.get(where)
        assert page.status_code == 200 and "bowl" in page.text.lower(), page.text
        shown = client.get(where + "/trials/5").text
        assert "probability of improvement" in shown, shown
"""
    run(package, "-W", "ignore", "-c", code)


def test_without_the_package_it_says_what_is_missing(package: dict[str, str]) -> None:
    code = 'import noregret as nr\nnr.Study.create("lab", {"x": nr.Float(0, 1)}, "maximize", '
    run(package, "-c", "from bowls import BowlSearch\n" + code + "BowlSearch())")
    bare = {**package, "PYTHONPATH": package["PYTHONPATH"].split(os.pathsep, 1)[1]}
    done = subprocess.run(
        [sys.executable, "-m", "noregret", "ask"],
        env=bare,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "bowls:BowlSearch" in done.stderr
    assert "install" in done.stderr
