"""`keda-py wake [NAME ...]`: an Override that keeps an Environment awake, or several; it ends by itself."""

from keda_py.cli.environments.parsers import run_override

DESCRIPTION = (
    "Keep an Environment awake, whatever its calendar says, or wake it now; tell what will happen and when. Times are "
    "those of your clock. It is an Override, which ends by itself."
)
EXAMPLES = (
    ("keda-py wake dev --until 22:00 --reason 'release night'", "tonight"),
    ("keda-py wake dev", "until its calendar changes next: of one that sleeps, until its hours begin"),
    ("keda-py wake deployment/web --for 3h", "one member alone"),
    ("keda-py wake dev stage --until 22:00", "two of the namespace, after a question"),
    ("keda-py wake -A -l team=web --until 22:00 --yes", "those of a team in every namespace, without a question"),
)


def run(arguments: list[str]) -> int:
    """Create the Override and print what will happen."""
    return run_override("wake", DESCRIPTION, EXAMPLES, arguments)
