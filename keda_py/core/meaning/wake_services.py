"""`wakeOnRequest` in words, and warnings about Services whose requests wake no Environment or ScaledObject. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches

from keda_py.apis.environments.override import OverrideSpec
from keda_py.core.admission import codes
from keda_py.core.admission.findings import AdmissionWarning
from keda_py.core.values.durations import in_words
from keda_py.core.waking.services import WakeService
from keda_py.core.waking.spec import WakeSpec

_FIELD = "spec.wakeOnRequest"
_ANY_NODE = ("nodes with a waker",)
_MOST_NAMED = 3


def describe_requests(
    wake: WakeSpec, services: Sequence[str] = (), what: str = "it", whose: str = "its members"
) -> str:
    """Write `a request to api or web wakes it for 2 h`; `services` are those that are known to be covered, and `whose`
    are the pods that they select.
    """
    names = [*(services or wake.names)]
    if len(names) > _MOST_NAMED:
        to = f"{', '.join(names[:_MOST_NAMED])} or {len(names) - _MOST_NAMED} more Services"
    elif names:
        to = " or ".join(filter(None, (", ".join(names[:-1]), names[-1])))
    else:
        to = f"{'a Service that it selects' if wake.selector is not None else f'any Service of {whose}'}"
    return f"a request to {to} wakes {what} for {in_words(wake.stay)}"


def check_wake_services(
    wake: WakeSpec, services: Sequence[WakeService], pods: Sequence[Mapping[str, str]], where: str, at: str = _FIELD
) -> Iterator[AdmissionWarning]:
    """Warn of Services that cannot be woken, and of none at all. `pods` are the labels of the pods that they would
    wake; `where` says which objects these are, and `at` is the field that asks for it.
    """
    names = [service.name for service in services]
    for number, name in enumerate(wake.names):
        if name not in names:
            near = get_close_matches(name, names, n=1)
            remedy = f'did you mean "{near[0]}"?' if near else "add it, or correct the name"
            field = f"{at}.services.names[{number}]" if at == _FIELD else f"{at}.services"
            yield _warning(f'{field}: Service "{name}" is not in {where}; {remedy}', field)
    covered = [
        one
        for one in services
        if wake.asks_for(one.name, one.labels) and (wake.names or any(one.selects(labels) for labels in pods))
    ]
    for service in covered:
        if service.obstacle is not None:
            text = f'{at}: requests for Service "{service.name}" wake nothing: {service.obstacle.because}'
            yield _warning(text, f"{at}.services")
            continue
        for limit in service.limits(_ANY_NODE):
            yield _warning(f'{at}: Service "{service.name}": {limit.because}', f"{at}.services")
    if services and pods and not covered and not wake.names:
        member = "a member" if at == _FIELD else "its pods"
        chosen = f"is chosen and selects {member}" if wake.selector is not None else f"selects {member}"
        yield _warning(f"{at}: no Service of {where} {chosen}, so no request wakes it", at)


def check_kept_down(override: OverrideSpec, woken: str) -> Iterator[AdmissionWarning]:
    """Warn of an Override that keeps a workload at 0; `woken` is what requests wake with it otherwise."""
    if override.target is not None and (override.state == "Asleep" or override.replicas == 0):
        field = "spec.state" if override.state else "spec.replicas"
        target = f"{override.target.kind} {override.target.name}"
        text = (
            f"{field}: {target} stays at 0 and no request ends it, though requests wake {woken}; "
            "leave the Override out if they are to wake it"
        )
        yield _warning(text, field)


def _warning(text: str, field: str) -> AdmissionWarning:
    return AdmissionWarning(message=text, field=field, code=codes.NOT_WOKEN)
