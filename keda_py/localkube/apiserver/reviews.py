"""Reviews and token requests: kinds that are answered and never stored.

TokenReview, SubjectAccessReview, SelfSubjectReview and their kin, and the token subresource of ServiceAccounts.
"""

from collections.abc import Callable
from datetime import timedelta

from keda_py.apis.foreign import list_at, map_at, text_at
from keda_py.localkube.access.identity import API_AUDIENCE, AUTHENTICATED, Identity, service_account
from keda_py.localkube.access.rbac import Attributes, Authorizer
from keda_py.localkube.bodies.bodies import read_object
from keda_py.localkube.model.calls import ApiAnswer, Call, RequestTarget, User
from keda_py.localkube.store.lifecycle import timestamp
from keda_py.localkube.store.store import Store
from keda_py.schema.resources import Obj
from keda_py.schema.status import bad_request

TOKEN_SECONDS = 3600


class Reviews:
    """Answers the kinds whose only verb is create."""

    def __init__(self, store: Store, identity: Identity, authorizer: Authorizer) -> None:
        self._store, self._identity, self._authorizer = store, identity, authorizer
        self._answers: dict[str, Callable[[Call, RequestTarget, Obj], Obj]] = {
            "TokenReview": self._token,
            "SubjectAccessReview": self._subject_access,
            "LocalSubjectAccessReview": self._subject_access,
            "SelfSubjectAccessReview": self._self_access,
            "SelfSubjectRulesReview": self._self_rules,
            "SelfSubjectReview": _self,
        }

    def create(self, call: Call, target: RequestTarget) -> ApiAnswer:
        """Answer a review with its status filled in."""
        question = read_object(call, target)
        answer = self._answers[target.resource.kind](call, target, question)
        metadata = {k: v for k, v in map_at(question, "metadata").items() if k != "namespace" or target.namespace}
        head = {"kind": target.resource.kind, "apiVersion": target.resource.api_version, "metadata": metadata}
        spec = {"spec": question["spec"]} if "spec" in question else {}
        return ApiAnswer(status=201, body={**head, **spec, "status": answer})

    def token(self, call: Call, target: RequestTarget) -> ApiAnswer:
        """Issue a token for a ServiceAccount, for as long as requested."""
        request = read_object(call, target, ("authentication.k8s.io/v1", "TokenRequest"))
        account = self._store.get(target.resource, target.namespace, target.name)
        spec = map_at(request, "spec")
        seconds = spec.get("expirationSeconds") or TOKEN_SECONDS
        audiences = spec.get("audiences") or [API_AUDIENCE]
        user = service_account(target.namespace, target.name, account["metadata"]["uid"])
        token = self._identity.issue(user, timedelta(seconds=seconds), tuple(audiences))
        now = self._store.clock.now()
        status = {"token": token, "expirationTimestamp": timestamp(now + timedelta(seconds=seconds))}
        metadata = {"name": target.name, "namespace": target.namespace, "creationTimestamp": timestamp(now)}
        head = {"kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1", "metadata": metadata}
        full = {"boundObjectRef": None, **spec, "audiences": audiences, "expirationSeconds": seconds}
        return ApiAnswer(status=201, body={**head, "spec": full, "status": status})

    def _token(self, call: Call, target: RequestTarget, question: Obj) -> Obj:
        token = text_at(question, "spec", "token")
        if not token:
            raise bad_request("spec.token: Required value: token is required for TokenReview in authentication")
        # Aggregated servers ask without audiences, which means those of the API server.
        wanted = list_at(question, "spec", "audiences") or [API_AUDIENCE]
        known = self._identity.token(token)
        audiences = [audience for audience in wanted if known is not None and audience in known.audiences]
        if known is None or not audiences:
            return {"user": {}, "error": "invalid bearer token"}
        return {"authenticated": True, "user": _user_info(known.user), "audiences": audiences}

    def _subject_access(self, call: Call, target: RequestTarget, question: Obj) -> Obj:
        spec = map_at(question, "spec")
        groups = tuple(group for group in list_at(spec, "groups") if isinstance(group, str))
        user = User(name=text_at(spec, "user"), groups=groups, uid=text_at(spec, "uid"))
        return self._access(user, spec)

    def _self_access(self, call: Call, target: RequestTarget, question: Obj) -> Obj:
        return self._access(call.user, map_at(question, "spec"))

    def _self_rules(self, call: Call, target: RequestTarget, question: Obj) -> Obj:
        rules = self._authorizer.rules_of(call.user, text_at(question, "spec", "namespace"))
        resources = [rule for rule in rules if rule.get("resources")]
        paths = [
            {"verbs": r["verbs"], "nonResourceURLs": r["nonResourceURLs"]} for r in rules if "nonResourceURLs" in r
        ]
        return {"resourceRules": resources, "nonResourceRules": paths, "incomplete": False}

    def _access(self, user: User, spec: Obj) -> Obj:
        return {"allowed": self._authorizer.decide(user, _attributes(spec)).allowed}


def _attributes(spec: Obj) -> Attributes:
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if (resource is None) == (path is None):
        words = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        raise bad_request(f"spec.resourceAttributes: Invalid value: {words}")
    if path is not None:
        return Attributes(verb=text_at(path, "verb"), path=text_at(path, "path"))
    names = ("verb", "namespace", "group", "resource", "subresource", "name")
    return Attributes(**{name: text_at(resource, name) for name in names})


def _self(call: Call, target: RequestTarget, question: Obj) -> Obj:
    return {"userInfo": _user_info(call.user)}


def _user_info(user: User) -> Obj:
    uid = {"uid": user.uid} if user.uid else {}
    return {"username": user.name, **uid, "groups": list(user.groups) or [AUTHENTICATED]}
