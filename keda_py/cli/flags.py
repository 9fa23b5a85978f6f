"""Flags of `keda-py operator` and `waker`: made of the options in `keda_py/settings/`, read as Go reads flags.

`--flag=value`, `--flag value` and `-flag value` are one; a boolean needs no value. Flags of KEDA's three programs that
mean nothing here are accepted and named, so that a Deployment made for KEDA starts unchanged. Next:
`settings.load_settings`.
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from difflib import get_close_matches

from keda_py.apis.go_values import parse_bool
from keda_py.cli.parsers import command_parser
from keda_py.cli.text import Examples, paint
from keda_py.errors import ConfigError
from keda_py.settings.options import options_of
from keda_py.settings.parsers import Address

ONE_PROCESS = "operator, metrics server and webhook are one process"
KLOG = "use --zap-log-level"
IGNORED = {
    "metrics-service-bind-address": ONE_PROCESS,
    "metrics-service-address": ONE_PROCESS,
    "metrics-service-grpc-authority": ONE_PROCESS,
    "cache-miss-to-direct-client": ONE_PROCESS,
    "port": "use --webhook-port for the webhook and --metrics-bind-address for metrics",
    "profiling-bind-address": "attach a sampling profiler to the process instead",
    "kube-api-qps": "few requests are made, and a 429 of the API server is obeyed",
    "kube-api-burst": "few requests are made, and a 429 of the API server is obeyed",
    "disable-compression": "the API server decides",
    "http-max-idle-conns": "idle connections end after --http-idle-conn-timeout",
    "http-max-idle-conns-per-host": "idle connections end after --http-idle-conn-timeout",
    "zap-stacktrace-level": "a stack trace is logged where there is one",
    "msg": "nothing is announced at start",
    **dict.fromkeys(
        ("v", "vmodule", "logtostderr", "alsologtostderr", "stderrthreshold", "log_dir", "log_file", "one_output",
         "log_file_max_size", "log_backtrace_at", "skip_headers", "skip_log_headers", "add_dir_header",
         "legacy_stderr_threshold_behavior"),
        KLOG,
    ),
}  # fmt: skip
_API_SERVER = "requests are authenticated and authorised by the cluster alone"
IGNORED_PREFIXES = ("audit-", "authentication-", "authorization-", "requestheader-", "tls-min-", "tls-cipher-")


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenFlags:
    """Flags of a command line; `ignored` maps each flag that has no meaning here to the reason."""

    values: dict[str, list[str]]
    ignored: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class FlagPage:
    """Command whose flags are read: its name, the groups of its settings, and what its help says."""

    command: str
    groups: Mapping[str, type]
    description: str
    examples: Examples


def read_flags(arguments: Sequence[str], page: FlagPage) -> GivenFlags:
    """Take the command line apart. Raises ConfigError for an unknown flag; --help prints and exits."""
    parser = _parser(page)
    known, rest = parser.parse_known_args([_two_dashes(argument) for argument in arguments])
    given = {name: values for name, values in vars(known).items() if values is not None}
    ignored = {name: IGNORED[name] for name in given if name in IGNORED} | _ignored_by_prefix(rest, page)
    return GivenFlags(values={name: values for name, values in given.items() if name not in IGNORED}, ignored=ignored)


def _parser(page: FlagPage) -> argparse.ArgumentParser:
    parser = command_parser(page.command, page.description, page.examples, notes=_environment(page))
    for group in page.groups.values():
        section = parser.add_argument_group((group.__doc__ or "").splitlines()[0].rstrip("."))
        for _, option, default in options_of(group):
            if not option.flag:
                continue
            section.add_argument(
                f"--{option.flag}",
                dest=option.flag,
                action="append",
                metavar="VALUE",
                nargs="?" if option.parse is parse_bool else None,
                const="true" if option.parse is parse_bool else None,
                help=option.help + (f" [{_default_text(default)}]" if default not in ("", (), None) else ""),
            )
    for name in IGNORED:
        parser.add_argument(f"--{name}", dest=name, action="append", nargs="?", const="true", help=argparse.SUPPRESS)
    return parser


def _environment(page: FlagPage) -> str:
    """Render the environment variables for the end of the help page."""
    known = [option for group in page.groups.values() for _, option, _ in options_of(group) if option.env]
    width = max(len(option.env) for option in known) + 2
    rows = [f"  {option.env:{width}}{f'--{option.flag}' if option.flag else option.help}" for option in known]
    return "\n".join([paint("environment:", "heading"), *rows, ""])


def _default_text(default: object) -> str:
    match default:
        case bool():
            return str(default).lower()
        case timedelta():
            return f"{default.total_seconds():g}s"
        case Address(host=host, port=port):
            return f"{host}:{port}"
        case tuple():
            return ", ".join(default)
        case _:
            return str(default)


def _two_dashes(argument: str) -> str:
    """Turn Go's single dash into two, as in `-zap-log-level=debug`; negative numbers and `-h` stay as they are."""
    is_flag = len(argument) > 1 and argument[0] == "-" and argument[1].isalpha() and argument != "-h"
    return f"-{argument}" if is_flag else argument


def _ignored_by_prefix(rest: Sequence[str], page: FlagPage) -> dict[str, str]:
    """Flags that every Kubernetes API server has; a word after one of them is its value. Raises ConfigError."""
    ignored: dict[str, str] = {}
    for argument in rest:
        name = argument.removeprefix("--").partition("=")[0]
        if argument.startswith("--") and name.startswith(IGNORED_PREFIXES):
            ignored[name] = _API_SERVER
        elif argument.startswith("-") or not ignored:
            raise ConfigError(_unknown(argument, page))
    return ignored


def _unknown(argument: str, page: FlagPage) -> str:
    name = argument.partition("=")[0]
    known = [f"--{option.flag}" for group in page.groups.values() for _, option, _ in options_of(group) if option.flag]
    near = get_close_matches(name, known, n=1)
    return f"unknown flag {name}; " + (f"did you mean {near[0]}?" if near else "--help lists the flags")
