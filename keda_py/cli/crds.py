"""`keda-py crds`: the CustomResourceDefinitions, generated from the models in `keda_py/apis`."""

import sys

import yaml

from keda_py.apis.kinds.crds import build_crds
from keda_py.cli.parsers import command_parser

EXAMPLES = (
    ("keda-py crds | kubectl apply --server-side -f -", "install or update them"),
    ("keda-py crds | kubectl diff --server-side -f -", "see what would change"),
)


class _PlainDumper(yaml.SafeDumper):
    """YAML dumper without anchors: a shape that is used twice is written out twice."""

    def ignore_aliases(self, data: object) -> bool:
        return True


def run(arguments: list[str]) -> int:
    """Print them as YAML documents, always in the same order."""
    command_parser("crds", "Print the CustomResourceDefinitions as YAML.", EXAMPLES).parse_args(arguments)
    for crd in build_crds():
        sys.stdout.write("---\n")
        yaml.dump(crd, sys.stdout, Dumper=_PlainDumper, sort_keys=False, allow_unicode=True, width=120)
    return 0
