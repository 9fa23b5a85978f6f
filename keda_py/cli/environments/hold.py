"""`keda-py hold [NAME ...]`: an Override that leaves an Environment as it is, or several; it ends by itself."""

from keda_py.cli.environments.parsers import override_options

DESCRIPTION = (
    "Leave an Environment as it is, neither up nor down, whatever its calendar says; tell for how long. Times are "
    "those of your clock. It is an Override, which ends by itself."
)
EXAMPLES = (("keda-py hold dev --for 1h --reason 'looking into an incident'", "nothing wakes and nothing sleeps"),)


def run(arguments: list[str]) -> int:
    """Create the Override and print what will happen."""
    options = override_options("hold", DESCRIPTION, EXAMPLES, arguments)
    from keda_py.core.environment.overrides import OverrideState  # heavy: not for --help
    from keda_py.environments.multiple_targets import choice_of, printing_of
    from keda_py.environments.overriding import override, wish_of

    wish = wish_of(OverrideState.HOLD, options)
    return override(options.kubeconfig, wish, choice_of(options), printing_of(options))
