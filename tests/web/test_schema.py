"""Schemathesis sends what the OpenAPI description allows and what it forbids: no answer may be a
500 or one that the description does not know.
"""

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from starlette.testclient import TestClient

import noregret as nr
from noregret.storage import SQLStorage
from noregret.web.app import create_app
from noregret.web.security import Access
from tests.web.conftest import TOKEN

HEADERS = {"Authorization": f"Bearer {TOKEN}"}
EXAMPLES = 6  # per operation and mode
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]


@pytest.fixture(scope="module")
def schema(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    made = SQLStorage(tmp_path_factory.mktemp("schema") / "studies.db")
    study = nr.Study.create(
        "0", {"x": nr.Float(0, 1)}, "maximize", strategy=nr.RandomSearch(), storage=made
    )
    study.run(lambda p: p["x"], 3, progress=False)
    app = create_app(made, Access(True, TOKEN))
    with TestClient(app):  # ends the process that fits models
        yield schemathesis.openapi.from_asgi("/api/openapi.json", app, headers=HEADERS)


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
def test_what_the_description_says_is_what_happens(schema: Any, mode: GenerationMode) -> None:
    tried = 0
    for result in schema.get_all_operations():
        operation = result.ok()

        @settings(
            max_examples=EXAMPLES,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            database=None,
        )
        @given(case=operation.as_strategy(generation_mode=mode), there=st.booleans())
        def send(case: Any, there: bool) -> None:
            if there and "key" in (case.path_parameters or {}):
                case.path_parameters["key"] = "0"  # the study that exists
            answer = case.call(headers=HEADERS)
            assert answer.status_code < 500, f"{case.as_curl_command()}: {answer.text}"
            case.validate_response(answer, checks=CHECKS)

        try:
            send()
        except Unsatisfiable:  # nothing can be wrong with a request that carries nothing
            continue
        tried += 1
    assert tried >= 15
