"""One attribute of a Java bean, read through Jolokia's HTTP interface."""

from http import HTTPStatus
from urllib.parse import quote

from keda_py.sdk.advanced import ScalerContext
from keda_py.sdk.scaler import Reading, ScalerError
from scalers.shared.answers.json_fields import INLINE_BYTES, json_object, whole_or_none
from scalers.shared.http_answer import HttpQuestion, get


def path_part(name: str) -> str:
    """A name inside of an address: Jolokia's escapes, then those of URLs."""
    return quote(name.replace("!", "!!").replace("/", "!/"), safe="!/")


def status_and_count(text: bytes) -> tuple[int | None, int | None]:
    """`status` and `value` of an answer. Raises ScalerError."""
    answer = json_object(text)
    return whole_or_none(answer, "status"), whole_or_none(answer, "value")


async def read_count(context: ScalerContext, question: HttpQuestion, what: str) -> Reading:
    """The attribute now, where both statuses are 200. `what` is asked, for errors. Raises ScalerError."""
    answer = await get(context, question)
    if answer.status_code != HTTPStatus.OK:
        raise ScalerError(f"{what}: the management endpoint answers with status {answer.status_code}")
    status, count = await context.parse(status_and_count, answer.content, inline_bytes=INLINE_BYTES)
    if status != HTTPStatus.OK:
        raise ScalerError(f"{what}: the management endpoint answers 200 with status {status} inside: is it there?")
    if count is None:
        return Reading(value=0.0, note="an answer without a value counts as 0")
    return Reading(value=float(max(count, 0)))
