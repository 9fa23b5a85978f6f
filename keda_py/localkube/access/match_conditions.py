"""`matchConditions` of admission webhooks, in CEL: whether a webhook is called about a write that its rules match.

As in a real API server: all conditions must be true. One that is false decides, whatever fails beside it; otherwise an
expression that fails is decided by failurePolicy: Fail refuses the write, Ignore passes the webhook over.
"""

from keda_py.schema.cel import compile_rule
from keda_py.schema.cel_functions import CelError
from keda_py.schema.resources import Obj


class ConditionsError(Exception):
    """A condition has no value for this write, none is false, and failurePolicy is Fail."""


def are_met(webhook: Obj, request: Obj) -> bool:
    """`request` is that of an AdmissionReview, with both objects. Raises ConditionsError."""
    conditions = webhook.get("matchConditions") or ()
    if not conditions:
        return True
    objects = {"object": request["object"], "oldObject": request["oldObject"]}
    scope = {**objects, "request": {name: value for name, value in request.items() if name not in objects}}
    errors = []
    for condition in conditions:
        try:
            if not _holds(condition["expression"], scope):
                return False
        except CelError as error:
            errors.append(f"expression '{condition['expression']}' resulted in error: {error}")
    if errors and webhook.get("failurePolicy", "Fail") == "Fail":
        raise ConditionsError(errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]")
    return not errors


def _holds(expression: str, scope: Obj) -> bool:
    value = compile_rule(expression)(scope)
    if not isinstance(value, bool):
        raise CelError("must evaluate to bool")
    return value
