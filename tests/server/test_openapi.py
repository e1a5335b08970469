"""Requests made from our own OpenAPI description: whatever comes, it is no mistake of ours."""

import os
from pathlib import Path
from typing import Any

import httpx
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.proxy.provider import Running

EXAMPLES = int(os.environ.get("CONTEXTRENDER_TEST_REQUESTS", "15"))
"""Requests for each endpoint."""


def test_no_request_is_answered_with_500(server: Running, data: Path) -> None:
    url = f"http://127.0.0.1:{server.port}"
    schema = schemathesis.openapi.from_url(f"{url}/openapi.json", wait_for_schema=5)
    operations: list[Any] = [found.ok() for found in schema.get_all_operations()]  # type: ignore[union-attr]
    walkers = [operation for operation in operations if operation.path.startswith("/walker/")]
    assert len(walkers) == 15
    token = (data / "token").read_text()
    told: list[str] = []
    with httpx.Client(base_url=url, headers={"authorization": f"Bearer {token}"}, timeout=30) as http:
        session = http.post("/walker/open_session", json={}).json()["reports"][0]["session"]
        for operation in walkers:

            @given(operation.as_strategy(), st.booleans())
            @settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), database=None)
            def ask(case: Any, own: bool) -> None:
                body = case.body
                if own and isinstance(body, dict) and "session" in body:
                    body = body | {"session": session}
                sent = case.as_transport_kwargs()
                sent = {"json": body} if isinstance(body, dict) else {"content": sent.get("data") or b""}
                path = operation.path  # noqa: B023 - called in this turn of the loop
                answer = http.post(path, **sent)
                if answer.status_code >= 500:
                    told.append(f"{path}: {answer.status_code} {answer.text[:200]} for {str(body)[:300]}")
                assert answer.json()

            ask()
    assert told == []
