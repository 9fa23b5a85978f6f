"""`keda-py hold [NAME ...]`: an Override that leaves an Environment as it is, or several; it ends by itself."""

from keda_py.cli.environments.parsers import run_override

DESCRIPTION = (
    "Leave an Environment as it is, neither up nor down, whatever its calendar says; tell for how long. Times are "
    "those of your clock. It is an Override, which ends by itself."
)
EXAMPLES = (("keda-py hold dev --for 1h --reason 'looking into an incident'", "nothing wakes and nothing sleeps"),)


def run(arguments: list[str]) -> int:
    """Create the Override and print what will happen."""
    return run_override("hold", DESCRIPTION, EXAMPLES, arguments)
