"""The PostgreSQL server of the tests needs nothing of the shell that runs them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from noregret.storage import SQLStorage
from tests.databases import postgresql


def test_neither_a_missing_locale_nor_other_runs_of_pytest_keep_it_from_starting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "test_other.py").write_text("def test_with_a_folder(tmp_path): pass\n")
    monkeypatch.setenv("LC_ALL", "xx_XX.UTF-8")
    with postgresql() as running:
        subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "test_other.py"],
            env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
            cwd=tmp_path,
            check=True,
        )
        running.stop()
        running.ensure_postgres_running()
        storage = SQLStorage(running.get_uri())
        assert storage.names() == []
        storage.close()
