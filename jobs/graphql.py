"""A client of a running Dagster instance: GraphQL over HTTP, and its errors as sentences.

Only the transport belongs here; what is asked stands with who asks it.
"""

import json
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

RETRY_SECONDS = (0.5, 1.0, 2.0, 4.0, 8.0)
"""Waits before a question is asked again when the server did not answer: a busy machine drops some."""


class InstanceError(ValueError):
    """The instance refused, or is not there."""


@dataclass(frozen=True, kw_only=True)
class Instance:
    """A Dagster webserver, such as `corpusmill dev` starts."""

    url: str
    timeout_seconds: float = 60.0

    def ask(self, query: str, **variables: Any) -> dict[str, Any]:
        """Return the data of one query, asked again while the server does not answer."""
        for wait in RETRY_SECONDS:
            try:
                return self._post(query, variables)
            except (urllib.error.URLError, TimeoutError, ConnectionError):
                time.sleep(wait)
        try:
            return self._post(query, variables)
        except (urllib.error.URLError, TimeoutError, ConnectionError) as error:
            raise InstanceError(
                f"{self.url} stopped answering ({error}); is `corpusmill dev` still running?"
            ) from error

    def change(self, mutation: str, *, field: str, success: str, **variables: Any) -> dict[str, Any]:
        """Return what `field` of a mutation answered when its type is `success`. Asked once: nobody wants it twice."""
        try:
            answer: dict[str, Any] = self._post(mutation, variables)[field]
        except (urllib.error.URLError, TimeoutError, ConnectionError) as error:
            raise InstanceError(
                f"{self.url} did not answer {field} ({error}); look in the UI what came of it"
            ) from error
        if answer["__typename"] != success:
            raise InstanceError(f"{field}: {answer['__typename']}: {answer.get('message', 'no reason given')}")
        return answer

    def check(self) -> None:
        """Raise InstanceError when nobody answers at the address."""
        try:
            self._post("{ version }", {})
        except (urllib.error.URLError, TimeoutError, ConnectionError) as error:
            raise InstanceError(
                f"wanted a Dagster webserver at {self.url}, got {_reason(error)}. "
                "Start one with `corpusmill dev`, or name another with --url"
            ) from error

    def _post(self, query: str, variables: Mapping[str, Any]) -> dict[str, Any]:
        body = json.dumps({"query": query, "variables": dict(variables)}).encode()
        request = urllib.request.Request(
            f"{self.url}/graphql", data=body, headers={"Content-Type": "application/json"}, method="POST"
        )
        try:
            with urllib.request.urlopen(request, timeout=self.timeout_seconds) as response:
                answer = json.load(response)
        except urllib.error.HTTPError as error:
            with error:
                answer = _error_answer(error)
        except ValueError as error:
            raise InstanceError(f"{self.url} is no Dagster webserver: its answer is not JSON ({error})") from error
        if answer.get("errors"):
            messages = "; ".join(item.get("message", str(item)) for item in answer["errors"])
            raise InstanceError(f"{self.url} refused the question: {messages}")
        data: dict[str, Any] = answer["data"]
        return data


def _error_answer(error: urllib.error.HTTPError) -> dict[str, Any]:
    # Dagster answers a malformed question with status 400 and GraphQL errors in the body.
    text = error.read().decode("utf-8", "replace")
    if text.startswith("{") and "errors" in text:
        answer: dict[str, Any] = json.loads(text)
        return answer
    raise InstanceError(f"{error.url} answered {error.code} {error.reason}; is it a Dagster webserver?")


def _reason(error: OSError) -> str:
    return str(getattr(error, "reason", None) or error)
