"""Objects in S3 or a service that speaks it.

boto3 does what needs the object API (paged lists, conditional puts, batch deletes), Arrow's own S3 filesystem moves the
bulk. Both retry slow-downs with backoff and jitter.
"""

import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from functools import cached_property
from types import TracebackType
from typing import Any

import pyarrow as pa
from pyarrow import fs

from corpusmill.lake.errors import UnsuitableStoreError
from corpusmill.lake.store import StoreSettings

_PAGE = 1000
_MAX_ATTEMPTS = 10
_LOST_RACE = {"PreconditionFailed", "ConditionalRequestConflict", "412", "409"}
_ABSENT = {"NoSuchKey", "404", "NotFound"}


class SlowDownRetry(fs.AwsStandardS3RetryStrategy):
    """Retries throttled and failed requests with exponential backoff and jitter."""

    def __init__(self) -> None:
        super().__init__(max_attempts=_MAX_ATTEMPTS)


class S3Backend:
    """All buckets that one endpoint and one set of credentials reach."""

    def __init__(self, settings: StoreSettings) -> None:
        self._settings = settings

    @cached_property
    def filesystem(self) -> fs.FileSystem:
        return fs.S3FileSystem(
            endpoint_override=self._settings.endpoint,
            region=self._settings.region,
            connect_timeout=self._settings.connect_timeout_seconds,
            request_timeout=self._settings.request_timeout_seconds,
            retry_strategy=SlowDownRetry(),
        )

    @cached_property
    def _client(self) -> Any:
        return _open_client(self._settings, _MAX_ATTEMPTS)

    def path(self, location: str) -> str:
        return location.removeprefix("s3://")

    def read(self, location: str) -> bytes:
        bucket, key = _split(location)
        try:
            return self._client.get_object(Bucket=bucket, Key=key)["Body"].read()
        except self._client.exceptions.ClientError as error:
            if _code(error) in _ABSENT:
                raise FileNotFoundError(f"no object at {location}") from error
            raise

    def write(self, location: str, data: bytes) -> None:
        bucket, key = _split(location)
        self._client.put_object(Bucket=bucket, Key=key, Body=data)

    def create(self, location: str, data: bytes) -> bool:
        bucket, key = _split(location)
        try:
            self._client.put_object(Bucket=bucket, Key=key, Body=data, IfNoneMatch="*")
        except self._client.exceptions.ClientError as error:
            if _code(error) in _LOST_RACE:
                return False
            raise
        return True

    def size(self, location: str) -> int | None:
        bucket, key = _split(location)
        try:
            return self._client.head_object(Bucket=bucket, Key=key)["ContentLength"]
        except self._client.exceptions.ClientError as error:
            if _code(error) in _ABSENT:
                return None
            raise

    def delete(self, locations: Iterable[str]) -> None:
        by_bucket: dict[str, list[str]] = {}
        for location in locations:
            bucket, key = _split(location)
            by_bucket.setdefault(bucket, []).append(key)
        for bucket, keys in by_bucket.items():
            for start in range(0, len(keys), _PAGE):
                self._delete_page(bucket, keys[start : start + _PAGE])

    def list(self, prefix: str) -> Iterator[tuple[str, int, datetime]]:
        bucket, key_prefix = _split(prefix)
        pages = self._client.get_paginator("list_objects_v2").paginate(
            Bucket=bucket, Prefix=key_prefix, PaginationConfig={"PageSize": _PAGE}
        )
        found = (
            (f"s3://{bucket}/{entry['Key']}", entry["Size"], entry["LastModified"])
            for page in pages
            for entry in page.get("Contents", ())
        )
        # AWS lists by key; other services may list folder by folder, which puts a/b before a-b.
        return found if self._settings.endpoint is None else iter(sorted(found))

    def entries(self, location: str) -> Sequence[tuple[str, bool]]:
        found = self.filesystem.get_file_info(fs.FileSelector(self.path(location), recursive=False))
        return [(entry.base_name, entry.type == fs.FileType.Directory) for entry in found]

    def open_output(self, location: str) -> "_PendingUpload":
        return _PendingUpload(self.filesystem.open_output_stream(self.path(location)), lambda: self.delete([location]))

    def check(self, root: str) -> None:
        """Try the conditional put that exactly one of two writers may win."""
        from botocore.exceptions import BotoCoreError, ClientError

        bucket, key = _split(f"{root}/.tmp/probe-{uuid.uuid4().hex}")
        client = _open_client(self._settings, max_attempts=2)
        try:
            # Some services make a bucket on the first write; a mistyped one must be noticed.
            client.head_bucket(Bucket=bucket)
            client.put_object(Bucket=bucket, Key=key, Body=b"probe", IfNoneMatch="*")
            won_twice = _put_again(client, bucket, key)
            client.delete_object(Bucket=bucket, Key=key)
        except (BotoCoreError, ClientError) as error:
            at = self._settings.endpoint or "AWS"
            raise UnsuitableStoreError(
                f"{root} at {at} cannot keep a lake: {error}; check the bucket, the endpoint, and the credentials in "
                "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY or the AWS profile"
            ) from error
        if won_twice:
            raise UnsuitableStoreError(
                f"{self._settings.endpoint} ignores conditional puts (If-None-Match), so two writers could both win; "
                "use a service that honours them"
            )

    def _delete_page(self, bucket: str, keys: Sequence[str]) -> None:
        answer = self._client.delete_objects(
            Bucket=bucket, Delete={"Objects": [{"Key": key} for key in keys], "Quiet": True}
        )
        if errors := answer.get("Errors"):
            first = errors[0]
            raise OSError(f"{len(errors)} of {len(keys)} objects in {bucket} not deleted, first {first}")


class _PendingUpload:
    def __init__(self, stream: pa.NativeFile, delete: Callable[[], None]) -> None:
        self.stream = stream
        self._delete = delete

    def publish(self) -> None:
        self.stream.close()

    def discard(self) -> None:
        # Arrow cannot abort an upload: closing completes it, so the object is deleted afterwards.
        self.stream.close()
        self._delete()

    def __enter__(self) -> pa.NativeFile:
        return self.stream

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if error is None:
            self.publish()
        else:
            self.discard()


def _open_client(settings: StoreSettings, max_attempts: int) -> Any:
    import boto3
    from botocore.config import Config

    # A session of its own: the default one is not safe to share between threads and never looks for new credentials.
    return boto3.session.Session().client(
        "s3",
        endpoint_url=settings.endpoint,
        region_name=settings.region or "us-east-1",
        config=Config(
            connect_timeout=settings.connect_timeout_seconds,
            read_timeout=settings.request_timeout_seconds,
            retries={"mode": "standard", "total_max_attempts": max_attempts},
            s3={"addressing_style": "path"} if settings.endpoint else None,
        ),
    )


def _put_again(client: Any, bucket: str, key: str) -> bool:
    try:
        client.put_object(Bucket=bucket, Key=key, Body=b"again", IfNoneMatch="*")
    except client.exceptions.ClientError as error:
        if _code(error) in _LOST_RACE:
            return False
        raise
    return True


def _split(location: str) -> tuple[str, str]:
    bucket, _, key = location.removeprefix("s3://").partition("/")
    return bucket, key


def _code(error: Any) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))
