"""Authentication and authorisation of values: without HTTP requests and a server."""

from datetime import UTC, datetime

import pytest

from keda_py.clock import FakeClock
from keda_py.errors import Unavailable
from keda_py.serving.api_request import ApiRequest, wanted_of
from keda_py.serving.authentication import Authentication
from keda_py.serving.authorisation import Authorisation
from keda_py.serving.caller import ANONYMOUS, REPLICA, Caller
from keda_py.serving.client_trust import ClientTrust, TrustSpec
from keda_py.serving.reviews import AccessDecision
from keda_py.serving.statuses import StatusError

METRIC = "/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/s0-x"
JANE = Caller(name="jane")


class Reviews:
    """Reviews that allow jane everything, and fail for tom."""

    async def decide(self, caller, wanted):
        if caller.name == "tom":
            raise Unavailable("no API server")
        return AccessDecision(allowed=caller == JANE, reason="no role")


class Tokens:
    async def caller(self, token):
        return JANE if token == "good" else None


class Trusted:
    trust = ClientTrust(TrustSpec())


class Peers:
    def is_peer(self, der):
        return der == b"ours"


def asked(path: str = METRIC, **fields) -> ApiRequest:
    return ApiRequest(method="GET", path=path, wanted=wanted_of("GET", path), **fields)


def passed_on(question: ApiRequest) -> bool:
    return question.path == METRIC


async def caller_of(question: ApiRequest) -> Caller:
    clock = FakeClock(datetime(2026, 11, 20, tzinfo=UTC))
    return await Authentication(Trusted(), Tokens(), clock, Peers()).caller(question)


async def refusal(caller: Caller, question: ApiRequest) -> tuple[int, str]:
    with pytest.raises(StatusError) as refused:
        await Authorisation(Reviews(), passed_on).check(caller, question)
    return refused.value.code, refused.value.message


async def test_a_replica_is_known_by_its_certificate_before_any_header_counts():
    headers = {"X-Remote-User": "jane", "Authorization": "Bearer good"}
    assert await caller_of(asked(certificate=b"ours", headers=headers)) is REPLICA


async def test_without_a_word_a_caller_is_anonymous_and_a_false_token_is_no_caller():
    assert await caller_of(asked()) is ANONYMOUS
    assert await caller_of(asked(headers={"Authorization": "Bearer good"})) == JANE
    with pytest.raises(StatusError) as refused:
        await caller_of(asked(headers={"Authorization": "Bearer bad"}))
    assert refused.value.code == 401


async def test_a_replica_may_ask_what_is_passed_on_and_nothing_else():
    await Authorisation(Reviews(), passed_on).check(REPLICA, asked())
    assert (await refusal(REPLICA, asked("/apis")))[0] == 403


async def test_a_user_with_a_replicas_name_is_reviewed_like_any_other():
    code, message = await refusal(Caller(name=REPLICA.name), asked())
    assert (code, "no role" in message) == (403, True)


async def test_what_is_not_known_is_an_error_and_no_permission():
    assert (await refusal(Caller(name="tom"), asked()))[0] == 500
    assert (await refusal(ANONYMOUS, asked()))[0] == 403
    await Authorisation(Reviews(), passed_on).check(JANE, asked())
