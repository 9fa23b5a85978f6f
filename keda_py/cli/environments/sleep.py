"""`keda-py sleep [NAME ...]`: an Override that puts an Environment to sleep, or several; it ends by itself."""

from keda_py.cli.environments.parsers import run_override

DESCRIPTION = (
    "Put an Environment to sleep, whatever its calendar says; tell what will happen and when. Times are those of your "
    "clock. It is an Override, which ends by itself."
)
EXAMPLES = (
    ("keda-py sleep dev --until Mon --reason holidays", "until Monday 00:00, when its calendar rules again"),
    ("keda-py sleep -A --until Mon --dry-run", "all of the cluster: what would happen to each"),
    ("keda-py sleep dev --from '2026-12-24 12:00' --until 2027-01-04", "planned"),
)


def run(arguments: list[str]) -> int:
    """Create the Override and print what will happen."""
    return run_override("sleep", DESCRIPTION, EXAMPLES, arguments)
