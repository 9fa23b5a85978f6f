"""`GET /report` on loopback: the ledger as JSON, for `keda-py shadow report`. `GET /trace`: what one object's triggers
said, as a trace that `keda-py simulate` replays.

It tells of every tenant's objects, so that no other machine reaches it, and no web page by a name of its own: who may
exec into the pod, or forward a port of it, may read it.
"""

from collections.abc import Mapping
from ipaddress import ip_address
from typing import Any

import orjson
from aiohttp import web

from keda_py.clock import Clock
from keda_py.core.shadow.comparison import Side
from keda_py.core.values.object_key import ObjectKey
from keda_py.core.values.times import write_time
from keda_py.operator.shadow.ledger import Disagreement, Disagreements
from keda_py.operator.shadow.trace_record import TraceRecord

PATH, TRACE = "/report", "/trace"


def report_of(ledger: Disagreements, clock: Clock) -> Mapping[str, Any]:
    """Write the ledger as JSON; times are UTC, and a disagreement that still holds has no `until`."""
    skipped = sorted(ledger.why_not.items(), key=lambda one: (one[0].namespace, one[0].name))
    return {
        "kind": "ShadowReport",
        "since": write_time(ledger.began),
        "now": write_time(clock.now()),
        "compared": ledger.compared,
        "found": ledger.found,
        "notCompared": [
            {"kind": key.kind, "namespace": key.namespace, "name": key.name, "why": why} for key, why in skipped
        ],
        "holding": [_fields(one) for one in ledger.holding()],
        "ended": [_fields(one) for one in ledger.ended()],
    }


def report_app(ledger: Disagreements, recorded: TraceRecord, clock: Clock) -> web.Application:
    """Serve the report and the traces."""

    async def answer(request: web.Request) -> web.Response:
        if not _is_here(request.host):
            raise web.HTTPForbidden(text="ask for 127.0.0.1")
        return web.Response(body=orjson.dumps(report_of(ledger, clock)), content_type="application/json")

    async def trace(request: web.Request) -> web.Response:
        if not _is_here(request.host):
            raise web.HTTPForbidden(text="ask for 127.0.0.1")
        key = ObjectKey(*(request.query.get(name, "") for name in ("kind", "namespace", "name")))
        text = recorded.trace(key)
        if text is None:
            raise web.HTTPNotFound(text="nothing is recorded of it")
        return web.Response(text=text, content_type="text/csv")

    app = web.Application()
    app.router.add_get(PATH, answer)
    app.router.add_get(TRACE, trace)
    return app


def _is_here(host: str) -> bool:
    """Accept loopback names alone: a page of another site may own a name that leads here (DNS rebinding)."""
    name = host.rpartition(":")[0] if host.rpartition("]")[2].count(":") else host
    try:
        return name == "localhost" or ip_address(name.strip("[]")).is_loopback
    except ValueError:
        return False


def _fields(one: Disagreement) -> Mapping[str, Any]:
    claim = one.claim
    document: dict[str, Any] = {
        "kind": one.key.kind,
        "namespace": one.key.namespace,
        "name": one.key.name,
        "matter": claim.matter.value,
        "since": write_time(one.since),
        "ours": _side(claim.ours),
        "theirs": _side(claim.theirs),
    }
    return document | ({"metric": claim.subject} if claim.subject else {}) | _ending(one)


def _side(side: Side) -> Mapping[str, str]:
    return {"does": side.value, "why": side.why}


def _ending(one: Disagreement) -> dict[str, str]:
    return {"until": write_time(one.until)} if one.until else {}
