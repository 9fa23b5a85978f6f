"""GitHub Apps: the token of an installation, in exchange for a claim that is signed with the app's key."""

import base64
from datetime import datetime, timedelta
from typing import Final

import httpx
import orjson
from pydantic import SecretStr

from keda_py.cloud.http_calls import HttpCall, HttpReply
from keda_py.cloud.tokens import LONGEST_LIFE, IssuedToken, TokenSource, granted, shared_source
from keda_py.core.documents.json_guard import check_json
from keda_py.sdk.advanced import NO_REDIRECTS, CredentialKey, ScalerContext, credential_digest, rs256
from scalers.shared.builds.github_api import HEADERS
from scalers.shared.http_answer import HttpQuestion, post

_EARLIER: Final = timedelta(seconds=30)
_LIFE: Final = timedelta(seconds=90)
_USUAL_SECONDS: Final = 3600.0


async def installation_token(context: ScalerContext, api: str, app: tuple[int, int], key: SecretStr) -> TokenSource:
    """The shared source; `app` is its id and that of the installation."""
    app_id, installation = app
    url = f"{api}/app/installations/{installation}/access_tokens"

    async def fetch() -> IssuedToken:
        claim = {"Authorization": f"Bearer {_claim(context, app_id, key)}"}
        question = HttpQuestion(url=url, headers={**HEADERS, **claim}, redirects=NO_REDIRECTS)
        answer = _read(url, await post(context, question, None))
        return IssuedToken(text=granted(answer, "token"), seconds=_seconds(answer.text("expires_at") or "", context))

    async def make() -> TokenSource:
        return TokenSource(fetch)

    credential = credential_digest(url, app_id, key)
    return await shared_source(
        context, CredentialKey(tenant=context.namespace, credential=credential, what=("github app",)), make
    )


def _read(url: str, response: httpx.Response) -> HttpReply:
    """Parse an object; {} for any other text."""
    try:
        check_json(response.content)
        body = orjson.loads(response.content)
    except ValueError:
        body = {}
    return HttpReply(
        question=HttpCall(url=url), status=response.status_code, body=body if isinstance(body, dict) else {}
    )


def _claim(context: ScalerContext, app_id: int, key: SecretStr) -> str:
    now = context.clock.now()
    claims = {
        "iss": str(app_id),
        "iat": int((now - _EARLIER).timestamp()),
        "exp": int((now + _LIFE).timestamp()),
    }
    signed = b".".join(_encoded(orjson.dumps(part)) for part in ({"alg": "RS256", "typ": "JWT"}, claims))
    signature = _encoded(rs256(key.get_secret_value(), signed, "appKey"))
    return f"{signed.decode()}.{signature.decode()}"


def _encoded(part: bytes) -> bytes:
    return base64.urlsafe_b64encode(part).rstrip(b"=")


def _seconds(expires_at: str, context: ScalerContext) -> float:
    """Seconds until the token ends; an hour, which is GitHub's usual time, if that cannot be read."""
    try:
        left = (datetime.fromisoformat(expires_at) - context.clock.now()).total_seconds()
    except (ValueError, TypeError):
        return _USUAL_SECONDS
    return min(max(left, 0.0), LONGEST_LIFE)
