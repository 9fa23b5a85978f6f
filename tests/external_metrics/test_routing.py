"""Routing of a request, decided without a server: by caller, path, and whether this replica leads."""

from collections.abc import Callable

import pytest

from keda_py.external_metrics.authorised_request import AuthorisedRequest, question_of
from keda_py.external_metrics.routing import Route, Routing, is_passed_on
from keda_py.serving.api_request import ApiRequest, wanted_of
from keda_py.serving.caller import REPLICA, Caller
from keda_py.serving.statuses import StatusError, unavailable

JANE = Caller(name="jane")
METRIC = "/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/s0-x"
INSIGHT = "/apis/insight.keda-py.dev/v1alpha1/namespaces/shop/scaledobjects/app"
JOB_INSIGHT = INSIGHT.replace("scaledobjects", "scaledjobs")
OURS = "scaledobject.keda.sh/name=app"


def asks(
    path: str, method: str = "GET", selector: str = OURS, caller: Caller = JANE, via: str = ""
) -> AuthorisedRequest:
    asked = ApiRequest(
        method=method, path=path, wanted=wanted_of(method, path), selector=selector, headers={"Via": via} if via else {}
    )
    return question_of(caller, asked)


def routing(*, leads: bool = True, owns: Callable[[str, str], bool] | None = None) -> Routing:
    return Routing(answers=lambda _: leads, owns=owns)


@pytest.mark.parametrize(
    ("path", "route"),
    [
        (METRIC, Route.METRIC),
        (METRIC.replace("s0-x", "s0%2Dx"), Route.METRIC),
        (METRIC.replace("s0-x", "a%2Fb"), Route.METRIC),
        (INSIGHT, Route.INSIGHT),
        (JOB_INSIGHT, Route.INSIGHT),
        ("/", Route.DOCUMENT),
        ("/apis", Route.DOCUMENT),
        ("/openapi/v3/apis/external.metrics.k8s.io/v1beta1", Route.DOCUMENT),
    ],
)
def test_the_replica_that_leads_answers_by_itself(path: str, route: Route) -> None:
    assert routing().routes(asks(path)) == (route,)
    assert routing().routes(asks(path, "HEAD")) == (route,)


@pytest.mark.parametrize(("leads", "routes"), [(True, (Route.WAKE,)), (False, (Route.HOLDER, Route.WAKE))])
def test_the_report_of_a_request_goes_to_the_leader(leads: bool, routes: tuple[Route, ...]) -> None:
    assert routing(leads=leads).routes(asks("/wake", "POST")) == routes
    assert routing(leads=leads).routes(asks("/wake", "GET")) == (Route.WAKE,)
    with pytest.raises(StatusError) as refused:
        routing().routes(asks("/wake", "DELETE"))
    assert refused.value.code == 405


@pytest.mark.parametrize(
    "path",
    [
        "/nowhere",
        "/apis/",
        f"{METRIC}/",
        f"{METRIC}/more",
        f"{METRIC}//",
        METRIC.replace("shop", ""),
        METRIC.removesuffix("/s0-x"),
        METRIC.removesuffix("s0-x"),
        METRIC.replace("v1beta1", "v1"),
        METRIC.replace("namespaces", "names"),
        INSIGHT.removesuffix("/app"),
        f"{INSIGHT}/status",
        INSIGHT.replace("scaledobjects", "secrets"),
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_what_is_not_served_is_not_found(path: str, method: str) -> None:
    with pytest.raises(StatusError) as refused:
        routing().routes(asks(path, method))
    assert refused.value.code == 404


@pytest.mark.parametrize("path", [METRIC, INSIGHT, "/apis"])
def test_only_reading_is_served(path: str) -> None:
    with pytest.raises(StatusError) as refused:
        routing().routes(asks(path, "POST"))
    assert refused.value.code == 405


def test_a_replica_that_does_not_lead_asks_the_holder_and_then_itself() -> None:
    assert routing(leads=False).routes(asks(METRIC)) == (Route.HOLDER, Route.METRIC)
    assert routing(leads=False).routes(asks(INSIGHT)) == (Route.HOLDER, Route.INSIGHT)
    assert routing(leads=False).routes(asks("/apis")) == (Route.DOCUMENT,)


def test_what_a_replica_has_passed_on_is_never_passed_on_again() -> None:
    assert routing().routes(asks(METRIC, caller=REPLICA)) == (Route.METRIC,)
    with pytest.raises(StatusError) as refused:
        routing(leads=False).routes(asks(METRIC, caller=REPLICA))
    assert refused.value.code == 421


def test_a_user_who_is_called_like_a_replica_is_none() -> None:
    named = Caller(name=REPLICA.name)
    assert routing(leads=False).routes(asks(METRIC, caller=named)) == (Route.HOLDER, Route.METRIC)


def test_a_name_that_is_not_ours_is_the_upstreams_on_every_replica() -> None:
    for leads in (True, False):
        sharing = routing(leads=leads, owns=lambda _namespace, metric: metric == "s0-x")
        assert sharing.routes(asks(METRIC.replace("s0-x", "nginx"), selector="app=web")) == (Route.UPSTREAM,)
        assert Route.METRIC in sharing.routes(asks(METRIC, selector="app=web"))
        assert Route.METRIC in sharing.routes(asks(METRIC.replace("s0-x", "nginx"), selector=OURS))
        assert Route.METRIC in sharing.routes(asks(METRIC.replace("s0-x", "nginx"), selector="a b c"))


def test_an_upstream_that_is_keda_py_again_is_told_so_in_place_of_a_circle() -> None:
    sharing = routing(owns=lambda _namespace, _metric: False)
    with pytest.raises(StatusError, match="leads back to keda-py"):
        sharing.routes(asks(METRIC, selector="", via="1.1 keda-py/1.0"))


def test_while_it_is_not_known_whose_a_name_is_there_is_no_route() -> None:
    def owns(namespace: str, metric: str) -> bool:
        raise unavailable("not synced")

    with pytest.raises(StatusError, match="not synced"):
        routing(owns=owns).routes(asks(METRIC, selector=""))


@pytest.mark.parametrize(
    ("method", "path", "passed_on"),
    [("GET", METRIC, True), ("GET", INSIGHT, True), ("HEAD", METRIC, False), ("GET", "/apis", False)],
)
def test_replicas_ask_each_other_for_values_and_insight_alone(method: str, path: str, passed_on: bool) -> None:
    assert is_passed_on(asks(path, method).asked) == passed_on


def test_no_header_is_shown_where_a_question_is_printed() -> None:
    asked = ApiRequest(
        method="GET", path=METRIC, wanted=wanted_of("GET", METRIC), headers={"Authorization": "Bearer marked"}
    )
    assert "marked" not in repr(question_of(JANE, asked))
