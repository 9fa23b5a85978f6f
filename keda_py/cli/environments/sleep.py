"""`keda-py sleep [NAME ...]`: an Override that puts an Environment to sleep, or several; it ends by itself."""

from keda_py.cli.environments.parsers import override_options

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
    options = override_options("sleep", DESCRIPTION, EXAMPLES, arguments)
    from keda_py.core.environment.overrides import OverrideState  # heavy: not for --help
    from keda_py.environments.multiple_targets import choice_of, printing_of
    from keda_py.environments.overriding import override, wish_of

    wish = wish_of(OverrideState.ASLEEP, options)
    return override(options.kubeconfig, wish, choice_of(options), printing_of(options))
