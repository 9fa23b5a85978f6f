"""Services that are to wake an Environment or a ScaledObject -> warnings about those whose requests do not. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches

from keda_py.core.admission import codes
from keda_py.core.admission.findings import AdmissionWarning
from keda_py.core.waking.services import WakeService
from keda_py.core.waking.spec import WakeSpec

_FIELD = "spec.wakeOnRequest"
_ANY_NODE = ("nodes with a waker",)


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


def _warning(text: str, field: str) -> AdmissionWarning:
    return AdmissionWarning(message=text, field=field, code=codes.NOT_WOKEN)
