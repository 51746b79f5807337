"""The application: API, pages, static files, and what happens when something goes wrong."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from noregret import __version__
from noregret.errors import (
    NoRegretError,
    StorageError,
    StudyExistsError,
    TrialError,
    UnknownStudyError,
    UnknownTrialError,
)
from noregret.storage import SQLStorage
from noregret.web import api, pages, writing
from noregret.web.models import Models
from noregret.web.reading import Library
from noregret.web.security import Access, Guard, outward

STATUS = {  # the first that fits
    UnknownStudyError: 404,
    UnknownTrialError: 404,
    StudyExistsError: 409,
    TrialError: 409,
    StorageError: 503,
}


def create_app(storage: SQLStorage, access: Access | None = None) -> FastAPI:
    """Reads the studies of a storage; changes them if ``access`` allows it."""
    chosen = access or Access()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        app.state.models.close()

    app = FastAPI(
        title="noregret",
        version=__version__,
        description="Studies: see what the optimizer believes, and run experiments.",
        lifespan=lifespan,
        openapi_url="/api/openapi.json",
        docs_url=None,
        redoc_url=None,
        separate_input_output_schemas=False,
    )
    app.state.library, app.state.models, app.state.access = (
        Library(storage),
        Models(storage.url),
        chosen,
    )
    app.include_router(api.router)
    app.include_router(writing.router)
    app.include_router(pages.router)
    app.add_exception_handler(NoRegretError, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_middleware(Guard, access=chosen)
    return app


def _answer(request: Request, status: int, detail: str, headers: Any = None) -> Response:
    if request.url.path.startswith("/api") or request.method != "GET":
        return JSONResponse({"detail": detail.encode("utf-8", "replace").decode()}, status, headers)
    return pages.problem(request, status, detail)


def _refused(request: Request, error: Exception) -> Response:
    """Our own errors say what, why and what to do: they are the answer."""
    status = next((code for kind, code in STATUS.items() if isinstance(error, kind)), 422)
    return _answer(request, status, outward(error, request.app.state.library.storage.url))


def _invalid(request: Request, error: Exception) -> Response:
    """Where and why, and not what was sent: it may be anything, and need not be printable."""
    assert isinstance(error, RequestValidationError)
    found = [
        f"{'.'.join(str(part) for part in each['loc'])}: {each['msg']}"
        for each in error.errors()[:5]
    ]
    broken = any(each["type"] == "json_invalid" for each in error.errors())
    return _answer(request, 400 if broken else 422, "; ".join(found))


def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    detail = "there is nothing at this address" if error.status_code == 404 else str(error.detail)
    return _answer(request, error.status_code, detail, error.headers)
