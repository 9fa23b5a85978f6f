"""Scale on the objects in a bucket of Google Cloud Storage."""

import os
from typing import Annotated

from keda_py.cloud import gcp
from keda_py.core.values.urls import path_segment
from keda_py.sdk.advanced import ScalerContext
from keda_py.sdk.scaler import Activation, ConfigError, Reading, Scaler, ScalerError, Target
from scalers.shared.answers.json_fields import INLINE_BYTES, Object, children, json_object, string
from scalers.shared.bearer_token import BearerToken
from scalers.shared.gcp import GcpAuthMetadata, required_gcp_identity
from scalers.shared.http_answer import HttpQuestion, get

_SCOPE = "https://www.googleapis.com/auth/devstorage.full_control https://www.googleapis.com/auth/cloud-platform"
_EMULATOR = "STORAGE_EMULATOR_HOST"
"""Of the operator's environment, as in Google's libraries: another server, which asks for no token."""
_MOST_PAGES = 1000
_FIXED = {
    "alt": "json",
    "endOffset": "",
    "fields": "nextPageToken,prefixes,items(size)",
    "includeFoldersAsPrefixes": "false",
    "includeTrailingDelimiter": "false",
    "matchGlob": "",
    "prettyPrint": "false",
    "projection": "full",
    "startOffset": "",
    "versions": "false",
}


class GcpStorageMetadata(GcpAuthMetadata):
    """Keys of `gcp-storage`."""

    bucket_name: str
    target_object_count: Annotated[int, Target()] = 100
    activation_target_object_count: Annotated[int, Activation()] = 0
    max_bucket_items_to_scan: int = 1000
    blob_delimiter: str = ""
    blob_prefix: str = ""


class GcpStorageScaler(Scaler[GcpStorageMetadata]):
    """Lists a bucket, `maxBucketItemsToScan` objects at most."""

    metric_name = "gcp-storage-{bucket_name}"
    _token: BearerToken | None = None

    def __init__(self, metadata: GcpStorageMetadata, context: ScalerContext) -> None:
        super().__init__(metadata, context)
        for value, key in (
            (metadata.max_bucket_items_to_scan - 1, "maxBucketItemsToScan"),
            (metadata.activation_target_object_count, "activationTargetObjectCount"),
        ):
            if value < 0:
                raise ConfigError(f"{key} must be a positive number", field=key)
        self._identity = required_gcp_identity(metadata, context.pod_identity)
        emulator = os.environ.get(_EMULATOR, "")
        self._root = (emulator if "://" in emulator else f"http://{emulator}") if emulator else ""

    async def open(self) -> None:
        """Share the tokens of this identity."""
        if not self._root:
            self._token = BearerToken(await gcp.token_source(self.context, self._identity, _SCOPE))

    async def read(self) -> Reading:
        """The count now; a bucket that does not exist has no objects, as in KEDA."""
        count, page, most = 0, "", self.metadata.max_bucket_items_to_scan
        for _ in range(_MOST_PAGES):
            found = await self._list(page)
            if found is None:
                return Reading(value=0.0, note="the bucket does not exist, which counts as 0")
            more, page = found
            count += more
            if count >= most or not page:
                return Reading(value=float(min(count, most)))
        raise ScalerError(f"bucket {self.metadata.bucket_name}: the list has more than {_MOST_PAGES} pages")

    async def _list(self, page: str) -> tuple[int, str] | None:
        """The objects of one page and the next one's token; None without a bucket. Raises ScalerError."""
        bucket = path_segment("bucketName", self.metadata.bucket_name)
        question = HttpQuestion(
            url=f"{self._root or 'https://storage.googleapis.com'}/storage/v1/b/{bucket}/o",
            parameters={
                **_FIXED,
                "delimiter": self.metadata.blob_delimiter,
                "prefix": self.metadata.blob_prefix,
                "pageToken": page,
            },
        )
        answer = await get(self.context, await self._token.sign(question) if self._token else question)
        if answer.status_code == 404:
            return None
        if not answer.is_success:
            raise ScalerError(f"bucket {self.metadata.bucket_name}: status {answer.status_code}")
        count, following = await self.context.parse(page_of_objects, answer.content, inline_bytes=INLINE_BYTES)
        return count, following


def page_of_objects(text: bytes) -> tuple[int, str]:
    """How many objects a page lists, and the token of the next one, "" if missing. Raises ScalerError.

    An object of size 0 does not count, as in KEDA: consoles put one in a bucket for each folder.
    """
    page = json_object(text)
    return sum(_has_content(item) for item in children(page, "items")), string(page, "nextPageToken")


def _has_content(item: Object) -> bool:
    """Google writes sizes as texts of digits."""
    return str(item.get("size") or "").strip("0") != ""
