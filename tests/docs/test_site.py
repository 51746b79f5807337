"""The documentation site: it builds strictly, every page is in the menu, every link and picture is
there, and nothing is loaded from elsewhere.
"""

import inspect
import json
import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest

import noregret as nr
from docs.making import notebooks
from tests.components import needed

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
NAV = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
LARGEST = 260_000  # bytes of a picture


class Page(HTMLParser):
    """What a built page links to, what it loads, and the places that can be linked to in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.places: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        self.places |= {value for value in (given.get("id"), given.get("name")) if value}
        if tag == "a" and given.get("href"):
            self.links.append(given["href"] or "")
        elif tag == "link" and given.get("rel") not in (
            "canonical",
            "alternate",
            "edit",
            "prev",
            "next",
        ):
            self.loads.append(given.get("href") or "")
        elif given.get("src"):
            self.loads.append(given["src"] or "")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, Page]:
    """Built in a folder of its own, so that a site in the working tree stays as it is."""
    needed("zensical", "docs")
    folder = tmp_path_factory.mktemp("site")
    shutil.copy(ROOT / "mkdocs.yml", folder)
    shutil.copy(ROOT / "CHANGELOG.md", folder)
    for name in ("docs", "src"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    command = [sys.executable, "-m", "zensical", "build", "--strict"]
    done = subprocess.run(
        command,
        cwd=folder,
        capture_output=True,
        text=True,
        env=os.environ | {"NO_COLOR": "1"},
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return {
        path.resolve(): Page(path.read_text(encoding="utf-8"))
        for path in (folder / "site").rglob("*.html")
    }


def test_every_page_is_in_the_menu_and_every_entry_is_a_page() -> None:
    listed = re.findall(r"^\s+- (?:[^:\n]+: )?([\w/-]+\.md)$", NAV, flags=re.M)
    assert len(listed) == len(set(listed))
    assert set(listed) == {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}


def test_every_page_was_built(site: dict[Path, Page]) -> None:
    names = {path.stem for path in site}
    assert {path.stem for path in DOCS.rglob("*.md")} <= names


def test_every_link_leads_somewhere(site: dict[Path, Page]) -> None:
    broken = []
    for path, page in site.items():
        if path.name == "404.html":
            continue  # its links are absolute, for a server
        for link in [*page.links, *page.loads]:
            if link.startswith(("http://", "https://", "mailto:", "data:", "javascript:")):
                continue
            file, place = urldefrag(link)
            target = (path.parent / unquote(file)).resolve() if file else path
            if not target.exists() or (
                place and target in site and unquote(place) not in site[target].places
            ):
                broken.append(f"{path.name}: {link}")
    assert not broken


def test_nothing_is_loaded_from_elsewhere(site: dict[Path, Page]) -> None:
    assert not [
        load for page in site.values() for load in page.loads if load.startswith(("http", "//"))
    ]
    assert not re.findall(
        r"(?:url\(|@import)[\"' ]*(?:https?:)?//", (DOCS / "site.css").read_text(encoding="utf-8")
    )


def test_formulas_are_drawn_by_the_browser(site: dict[Path, Page]) -> None:
    text = next(path for path in site if path.name == "theory.html").read_text(encoding="utf-8")
    assert text.count("<math") >= 10
    assert "θ<sub>t</sub>" in text
    assert not re.findall(r"<mi>\\", text)  # a command that the converter does not know


def test_the_reference_shows_every_public_name(site: dict[Path, Page]) -> None:
    import noregret as nr

    places = {
        place
        for path, page in site.items()
        if path.parent.name == "reference"
        for place in page.places
    }
    missing = [
        name for name in nr.__all__ if not any(place.endswith("." + name) for place in places)
    ]
    assert not missing


def test_the_reference_shows_what_a_strategy_of_ones_own_needs(site: dict[Path, Page]) -> None:
    places = {p for path, page in site.items() if "reference" in path.parts for p in page.places}
    for name in (
        "strategies.Strategy.propose",
        "strategies.Strategy.belief",
        "trials.Proposal.x",
        "trials.History.pending",
        "trials.Decision.payload",
        "rkhs.Probe.one_step_regret",
        "rkhs.Scaling.h",
    ):
        assert f"noregret.{name}" in places, name


def test_what_makes_the_pages_is_not_published(site: dict[Path, Page]) -> None:
    folder = next(path.parent for path in site if path.name == "theory.html")
    assert (DOCS / "making" / "mathml.py").exists()
    assert not list(folder.rglob("*.py"))
    assert not (folder / "making").exists()


def test_pictures_are_small_and_used() -> None:
    text = "\n".join(
        path.read_text(encoding="utf-8") for path in [*DOCS.rglob("*.md"), ROOT / "README.md"]
    )
    for picture in (DOCS / "figures").iterdir():
        assert picture.name in text, f"{picture.name} is on no page"
        assert picture.stat().st_size < LARGEST, picture.name


def test_the_reference_has_parameters_in_tables() -> None:
    """Of the calls that most programs make: every argument has its line."""
    for call in (
        nr.maximize,
        nr.Study.create,
        nr.Study.ask,
        nr.Study.tell,
        nr.Study.run,
        nr.Study.reclaim,
        nr.Study.derived,
    ):
        said = (call.__doc__ or "").split("Args:\n")[1].split("Returns:")[0]
        listed = re.findall(r"^ +(\w+): [A-Z\"`]", said, flags=re.MULTILINE)
        wanted = [name for name in inspect.signature(call).parameters if name != "self"]
        assert listed == wanted, call.__qualname__


@pytest.mark.parametrize("page", notebooks.PAGES)
def test_a_notebook_is_its_page(page: str) -> None:
    """Its code and outputs are those that the tests run and compare on the page."""
    text = notebooks.path_of(page).read_text(encoding="utf-8")
    assert text == notebooks.notebook(page), "run python -m docs.making.notebooks"
    document = json.loads(text)
    code = ["".join(cell["source"]) for cell in document["cells"] if cell["cell_type"] == "code"]
    assert code
    for each in code:
        compile(each, page, "exec")
    assert any(cell.get("outputs") for cell in document["cells"])
    assert f"notebooks/{notebooks.path_of(page).name}" in (DOCS / page).read_text("utf-8")
