"""A storage with a small study in it, and clients that see the app as a browser or a
script would.
"""

import re
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import uvicorn
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait
from starlette.testclient import TestClient

import noregret as nr
from noregret.storage import SQLStorage
from noregret.web.app import create_app, server_config
from noregret.web.security import Access
from tests.components import missing, program

TOKEN = "a-token-that-is-long-enough"
HERE = "http://127.0.0.1:8080"

Clients = Callable[..., TestClient]


@pytest.fixture(scope="session")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("web") / "studies.db"
    made = SQLStorage(file)
    study = nr.Study.create(
        "first", {"x": nr.Float(0, 1), "kind": nr.Choice(["a", "b"])}, "maximize", storage=made
    )
    study.run(lambda p: float(p["x"]) + (p["kind"] == "a"), 12, progress=False)
    made.close()  # all of it is in one file then
    return file


@pytest.fixture
def storage(original: Path, tmp_path: Path) -> SQLStorage:
    return SQLStorage(shutil.copy(original, tmp_path / "studies.db"))


@pytest.fixture
def clients(storage: SQLStorage) -> Iterator[Clients]:
    opened: list[TestClient] = []

    def client(
        *, write: bool = True, token: str | None = None, host: str = "127.0.0.1", base: str = HERE
    ) -> TestClient:
        opened.append(
            TestClient(
                create_app(storage, Access(write, token, host)),
                base_url=base,
                follow_redirects=False,
                raise_server_exceptions=False,
            )
        )
        opened[-1].__enter__()
        return opened[-1]

    yield client
    for each in opened:
        each.__exit__(None, None, None)


@pytest.fixture
def browser(clients: Clients) -> TestClient:
    """Writes allowed, no token; carries the cookie and the CSRF token of a page, as the
    scripts do.
    """
    return with_csrf(clients())


@contextmanager
def served(storage: SQLStorage, access: Access) -> Iterator[str]:
    """The app on a real port, in a thread."""
    server = uvicorn.Server(server_config(create_app(storage, access), log_level="critical"))
    with closing(socket.socket()) as bound:
        bound.bind(("127.0.0.1", 0))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True)
        thread.start()
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.01)
        try:
            yield f"http://127.0.0.1:{bound.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(240)


def with_csrf(client: TestClient) -> TestClient:
    found = re.search(r'name="csrf-token" content="([0-9a-f]{64})"', client.get("/").text)
    assert found is not None
    client.headers["X-CSRF-Token"] = found[1]
    return client


# -- a real browser --

# seconds; pages answer in a fraction of one, but not on a machine with other things to do
PATIENCE = 240.0
HARMLESS = (
    "plotly.min.js",
    "Password forms should have",
)  # Plotly tries to add style for maps and colour bars; the policy stops it


@pytest.fixture(scope="session")
def driver() -> Iterator[Any]:
    chromium = program("chromium", "the package chromium")
    chromedriver = program("chromedriver", "the package chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for argument in (
        "--headless=new",
        "--no-sandbox",
        "--disable-dev-shm-usage",
        "--window-size=1280,900",
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    opened = webdriver.Chrome(options=options, service=Service(chromedriver))
    yield opened
    opened.quit()


@pytest.fixture
def empty(tmp_path: Path) -> SQLStorage:
    return SQLStorage(tmp_path / "browser.db")


class Page:
    """What a person does with it."""

    def __init__(self, driver: Any, address: str) -> None:
        self.driver, self.address = driver, address
        driver.delete_all_cookies()
        driver.get_log("browser")  # what an earlier page complained about is not this one's

    def wide(self, width: int) -> None:
        """As on a screen of this width."""
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)

    def press(self, *keys: str) -> None:
        """To wherever the focus is."""
        ActionChains(self.driver).send_keys(*keys).perform()

    def retype(self, *keys: str) -> None:
        """Instead of what stands in the field that has the focus."""
        chain = ActionChains(self.driver).key_down(Keys.CONTROL).send_keys("a")
        chain.key_up(Keys.CONTROL).send_keys(*keys).perform()

    def tab_to(self, css: str) -> None:
        """Without a mouse: Tab until the element has the focus."""
        for _ in range(150):
            if self.driver.execute_script(
                "return document.activeElement?.matches(arguments[0]) ?? false", css
            ):
                return
            self.press(Keys.TAB)
        raise AssertionError(f"{css} cannot be reached by keyboard")

    def go(self, path: str) -> None:
        self.driver.get(self.address + path)

    def until(self, condition: Callable[[], Any], what: str) -> Any:
        return WebDriverWait(
            self.driver, PATIENCE, poll_frequency=0.05, ignored_exceptions=[Exception]
        ).until(lambda _: condition(), what)

    def one(self, css: str) -> Any:
        return self.driver.find_element(By.CSS_SELECTOR, css)

    def all(self, css: str) -> list[Any]:
        return self.driver.find_elements(By.CSS_SELECTOR, css)

    def gone(self, css: str) -> bool:
        return not self.all(css)

    def text(self, css: str = "body") -> str:
        return self.one(css).text

    def fill(self, css: str, text: str) -> None:
        field = self.one(css)
        field.clear()
        field.send_keys(text)

    def drawn(self, chart: str) -> int:
        """How many points the data of a drawn chart have; 0 before it is drawn."""
        place = f'[data-chart="{chart}"] .plot'
        return (
            int(self.one(place).get_attribute("data-points") or 0)
            if self.all(f"{place} .main-svg")
            else 0
        )

    def complaints(self) -> list[str]:
        return [
            entry["message"]
            for entry in self.driver.get_log("browser")
            if not any(word in entry["message"] for word in HARMLESS)
        ]


AXE = "axe-core@4.10.3"
WIDTHS = (1440, 390)


@pytest.fixture(params=WIDTHS)
def page(request: pytest.FixtureRequest, driver: Any, empty: SQLStorage) -> Iterator[Page]:
    with served(empty, Access(write=True)) as address:
        opened = Page(driver, address)
        opened.wide(request.param)
        yield opened
        driver.get("about:blank")
        driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def reaction(storage: SQLStorage, name: str = "yield", trials: int = 14) -> nr.Study:
    rng = np.random.default_rng(0)
    space = {"temperature": nr.Float(20, 120), "solvent": nr.Choice(["water", "dmf"])}
    study = nr.Study.create(name, space, "maximize", storage=storage)

    def measured(p: dict[str, Any]) -> float:
        if p["temperature"] > 115:
            raise ValueError("it boiled over")
        best = 80 if p["solvent"] == "dmf" else 60
        return float(best - ((p["temperature"] - 70) / 10) ** 2 + 0.3 * rng.normal())

    study.run(measured, trials, catch=(ValueError,), progress=False)
    return study


def drawn(page: Page) -> None:
    page.until(
        lambda: all(
            place.find_elements("css selector", ".main-svg")
            for place in page.all(".plot")
            if place.is_displayed()
        ),
        "all charts drawn",
    )


@pytest.fixture(scope="session")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """From npm into a folder of its own: nothing of it is kept."""
    npm = program("npm", "the package npm: axe-core comes from there")
    folder = tmp_path_factory.mktemp("axe")
    command = [npm, "install", "--no-audit", "--no-fund", "--prefix", str(folder), AXE]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode:
        missing(f"npm could not install {AXE}: {done.stderr[-200:]}")
    script = Path(folder) / "node_modules" / "axe-core" / "axe.min.js"
    return script.read_text(encoding="utf-8")


def violations(page: Page, axe: str) -> list[str]:
    """What axe-core finds on the page as it is now."""
    page.driver.execute_script(axe)
    answer = page.driver.execute_async_script(
        "const done = arguments[arguments.length - 1]; axe.run().then(done)"
    )
    return [
        f"{page.driver.current_url}: {each['id']}: {node['html'][:120]}:"
        f" {node['failureSummary'][:200]}"
        for each in answer["violations"]
        for node in each["nodes"]
    ]
