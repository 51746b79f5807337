"""The checks that ``make dist`` makes: what they accept, what they find, and that the smoke test
runs here too.
"""

import importlib.util
import subprocess
import sys
from email.message import Message
from pathlib import Path
from types import ModuleType

import noregret as nr

RELEASE = Path(__file__).parents[2] / "packaging"


def load_check() -> ModuleType:
    spec = importlib.util.spec_from_file_location("release_check", RELEASE / "check.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def good() -> tuple[set[str], Message]:
    metadata = Message()
    for name, value in (
        ("Version", nr.__version__),
        ("Requires-Dist", "numpy>=1.26"),
        ("Requires-Dist", "scipy>=1.12"),
        ("Requires-Dist", "optuna>=4; extra == 'optuna'"),
    ):
        metadata[name] = value
    metadata["Description-Content-Type"] = "text/markdown"
    metadata.set_payload("# noregret\n")
    info = f"noregret-{nr.__version__}.dist-info"
    return {*load_check().sources(), f"{info}/METADATA", f"{info}/licenses/LICENSE"}, metadata


def test_a_good_wheel_passes_and_every_fault_is_found() -> None:
    check = load_check()
    assert check.version() == nr.__version__
    names, metadata = good()
    files = check.sources()
    assert "noregret/py.typed" in files
    assert check.wheel_faults(names, metadata, nr.__version__, files) == []
    assert check.wheel_faults(names - {"noregret/py.typed"}, metadata, nr.__version__, files) == [
        "missing noregret/py.typed"
    ]
    assert "a test in the wheel: noregret/tests/test_x.py" in check.wheel_faults(
        {*names, "noregret/tests/test_x.py"}, metadata, nr.__version__, files
    )
    assert "should not be there: research/benchmarks/speed.py" in check.wheel_faults(
        {*names, "research/benchmarks/speed.py"}, metadata, nr.__version__, files
    )
    unlicensed = {name for name in names if "LICENSE" not in name}
    assert check.wheel_faults(unlicensed, metadata, nr.__version__, files) == [
        "the license is missing"
    ]
    metadata["Requires-Dist"] = "pandas"
    metadata.replace_header("Version", "0.0.0")
    metadata.set_payload("UNKNOWN")
    assert len(check.wheel_faults(names, metadata, nr.__version__, files)) == 3


def test_the_smoke_test_runs() -> None:
    done = subprocess.run(
        [sys.executable, str(RELEASE / "smoke.py")],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert nr.__version__ in done.stdout
