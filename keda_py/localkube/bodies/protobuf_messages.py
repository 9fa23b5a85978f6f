"""Field numbers of the messages that clients send as protobuf, from Kubernetes' published `generated.proto` files.

Data for `protobuf`. A field is "name" (text) or "name form". Forms are texts, map (text to text), bytes-map (base64 in
JSON), quantities (a map), int and bool (absent if zero, as in Go), int? and bool? (pointers: zero is kept),
int-or-string, or another message's name; a star marks a list. Kinds whose numbers depend on the version include it.
Fields that `kubectl create` and `kubectl run` never set are left out.
"""

from typing import TypeAlias

Message: TypeAlias = dict[int, str]

_META = "metadata ObjectMeta"
_SPEC_AND_TEMPLATE: Message = {1: _META, 2: "spec PodSpec"}

MESSAGES: dict[str, Message] = {
    # meta/v1
    "ObjectMeta": {
        1: "name",
        2: "generateName",
        3: "namespace",
        5: "uid",
        6: "resourceVersion",
        11: "labels map",
        12: "annotations map",
        14: "finalizers texts",
    },
    "LabelSelector": {1: "matchLabels map", 2: "matchExpressions LabelSelectorRequirement*"},
    "LabelSelectorRequirement": {1: "key", 2: "operator", 3: "values texts"},
    "Preconditions": {1: "uid", 2: "resourceVersion"},
    "DeleteOptions": {
        1: "gracePeriodSeconds int?",
        2: "preconditions Preconditions",
        3: "orphanDependents bool?",
        4: "propagationPolicy",
        5: "dryRun texts",
    },
    # core/v1
    "Namespace": {1: _META, 2: "spec NamespaceSpec"},
    "NamespaceSpec": {1: "finalizers texts"},
    "ConfigMap": {1: _META, 2: "data map", 3: "binaryData bytes-map", 4: "immutable bool?"},
    "Secret": {1: _META, 2: "data bytes-map", 3: "type", 4: "stringData map", 5: "immutable bool?"},
    "ServiceAccount": {
        1: _META,
        3: "imagePullSecrets LocalObjectReference*",
        4: "automountServiceAccountToken bool?",
    },
    "LocalObjectReference": {1: "name"},
    "Service": {1: _META, 2: "spec ServiceSpec"},
    "ServiceSpec": {
        1: "ports ServicePort*",
        2: "selector map",
        3: "clusterIP",
        4: "type",
        5: "externalIPs texts",
        7: "sessionAffinity",
        10: "externalName",
    },
    "ServicePort": {1: "name", 2: "protocol", 3: "port int", 4: "targetPort int-or-string", 5: "nodePort int"},
    "Pod": _SPEC_AND_TEMPLATE,
    "PodTemplateSpec": _SPEC_AND_TEMPLATE,
    "PodSpec": {
        2: "containers Container*",
        3: "restartPolicy",
        4: "terminationGracePeriodSeconds int?",
        5: "activeDeadlineSeconds int?",
        6: "dnsPolicy",
        7: "nodeSelector map",
        8: "serviceAccountName",
        10: "nodeName",
        15: "imagePullSecrets LocalObjectReference*",
        19: "schedulerName",
        20: "initContainers Container*",
    },
    "Container": {
        1: "name",
        2: "image",
        3: "command texts",
        4: "args texts",
        5: "workingDir",
        6: "ports ContainerPort*",
        7: "env EnvVar*",
        8: "resources ResourceRequirements",
        13: "terminationMessagePath",
        14: "imagePullPolicy",
        16: "stdin bool",
        17: "stdinOnce bool",
        18: "tty bool",
    },
    "ContainerPort": {1: "name", 2: "hostPort int", 3: "containerPort int", 4: "protocol", 5: "hostIP"},
    "EnvVar": {1: "name", 2: "value"},
    "ResourceRequirements": {1: "limits quantities", 2: "requests quantities"},
    # apps/v1
    "Deployment": {1: _META, 2: "spec DeploymentSpec"},
    "DeploymentSpec": {
        1: "replicas int?",
        2: "selector LabelSelector",
        3: "template PodTemplateSpec",
        4: "strategy DeploymentStrategy",
        5: "minReadySeconds int",
        6: "revisionHistoryLimit int?",
        7: "paused bool",
        9: "progressDeadlineSeconds int?",
    },
    "DeploymentStrategy": {1: "type"},
    # batch/v1
    "Job": {1: _META, 2: "spec JobSpec"},
    "JobSpec": {
        1: "parallelism int?",
        2: "completions int?",
        3: "activeDeadlineSeconds int?",
        4: "selector LabelSelector",
        6: "template PodTemplateSpec",
        7: "backoffLimit int?",
        8: "ttlSecondsAfterFinished int?",
    },
    "CronJob": {1: _META, 2: "spec CronJobSpec"},
    "CronJobSpec": {
        1: "schedule",
        2: "startingDeadlineSeconds int?",
        3: "concurrencyPolicy",
        4: "suspend bool?",
        5: "jobTemplate JobTemplateSpec",
        6: "successfulJobsHistoryLimit int?",
        7: "failedJobsHistoryLimit int?",
        8: "timeZone",
    },
    "JobTemplateSpec": {1: _META, 2: "spec JobSpec"},
    # autoscaling/v1 and /v2
    "CrossVersionObjectReference": {1: "kind", 2: "name", 3: "apiVersion"},
    "Scale": {1: _META, 2: "spec ScaleSpec"},
    "ScaleSpec": {1: "replicas int"},
    "autoscaling/v1 HorizontalPodAutoscaler": {1: _META, 2: "spec HorizontalPodAutoscalerSpecV1"},
    "HorizontalPodAutoscalerSpecV1": {
        1: "scaleTargetRef CrossVersionObjectReference",
        2: "minReplicas int?",
        3: "maxReplicas int",
        4: "targetCPUUtilizationPercentage int?",
    },
    "autoscaling/v2 HorizontalPodAutoscaler": {1: _META, 2: "spec HorizontalPodAutoscalerSpec"},
    "HorizontalPodAutoscalerSpec": {
        1: "scaleTargetRef CrossVersionObjectReference",
        2: "minReplicas int?",
        3: "maxReplicas int",
        4: "metrics MetricSpec*",
    },
    "MetricSpec": {1: "type", 4: "resource ResourceMetricSource"},
    "ResourceMetricSource": {1: "name", 2: "target MetricTarget"},
    "MetricTarget": {1: "type", 2: "value Quantity", 3: "averageValue Quantity", 4: "averageUtilization int?"},
    # rbac/v1
    "Role": {1: _META, 2: "rules PolicyRule*"},
    "ClusterRole": {1: _META, 2: "rules PolicyRule*"},
    "PolicyRule": {
        1: "verbs texts",
        2: "apiGroups texts",
        3: "resources texts",
        4: "resourceNames texts",
        5: "nonResourceURLs texts",
    },
    "RoleBinding": {1: _META, 2: "subjects Subject*", 3: "roleRef RoleRef"},
    "ClusterRoleBinding": {1: _META, 2: "subjects Subject*", 3: "roleRef RoleRef"},
    "Subject": {1: "kind", 2: "apiGroup", 3: "name", 4: "namespace"},
    "RoleRef": {1: "apiGroup", 2: "kind", 3: "name"},
    # authorization/v1 and authentication/v1
    "SelfSubjectAccessReview": {1: _META, 2: "spec SelfSubjectAccessReviewSpec"},
    "SelfSubjectAccessReviewSpec": {
        1: "resourceAttributes ResourceAttributes",
        2: "nonResourceAttributes NonResourceAttributes",
    },
    "NonResourceAttributes": {1: "path", 2: "verb"},
    "ResourceAttributes": {
        1: "namespace",
        2: "verb",
        3: "group",
        4: "version",
        5: "resource",
        6: "subresource",
        7: "name",
    },
    "SelfSubjectRulesReview": {1: _META, 2: "spec SelfSubjectRulesReviewSpec"},
    "SelfSubjectRulesReviewSpec": {1: "namespace"},
    "TokenRequest": {1: _META, 2: "spec TokenRequestSpec"},
    "TokenRequestSpec": {1: "audiences texts", 4: "expirationSeconds int?"},
}
