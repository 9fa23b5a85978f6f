import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from keda_py.cli import COMMANDS, main
from keda_py.cli.flags import IGNORED, read_flags
from keda_py.cli.operator import PAGE
from keda_py.errors import ConfigError
from tests.documents import read, read_all, read_file
from tests.places import ROOT
from tests.programs.client import FRESH, run, start
from tests.sweeps import chosen


def given(*arguments: str) -> dict[str, list[str]]:
    return read_flags(arguments, PAGE).values


@pytest.mark.parametrize(
    "arguments",
    [
        ["--secure-port=7443"],
        ["--secure-port", "7443"],
        ["-secure-port=7443"],
        ["-secure-port", "7443"],
    ],
)
def test_a_flag_is_written_as_go_allows(arguments: list[str]) -> None:
    assert given(*arguments) == {"secure-port": ["7443"]}


@pytest.mark.parametrize(
    ("arguments", "value"),
    [(["--leader-elect"], "true"), (["--leader-elect=false"], "false"), (["--leader-elect", "--zap-devel"], "true")],
)
def test_a_boolean_flag_needs_no_value(arguments: list[str], value: str) -> None:
    assert given(*arguments)["leader-elect"] == [value]


def test_the_arguments_of_kedas_own_deployment_are_accepted() -> None:
    values = given(
        "--leader-elect",
        "--zap-log-level=info",
        "--zap-encoder=console",
        "--zap-time-encoding=rfc3339",
        "--enable-cert-rotation=true",
    )
    assert values["zap-encoder"] == ["console"]
    assert values["enable-cert-rotation"] == ["true"]


def test_flags_that_mean_nothing_here_are_named_and_dropped() -> None:
    arguments = ["--metrics-service-bind-address=:9666", "--kube-api-qps", "20", "-v=2", "--logtostderr=true"]
    found = read_flags([*arguments, "--secure-port=1"], PAGE)
    assert found.values == {"secure-port": ["1"]}
    assert set(found.ignored) == {"metrics-service-bind-address", "kube-api-qps", "v", "logtostderr"}
    assert all(found.ignored.values())


@pytest.mark.parametrize(
    "arguments", [["--audit-log-path=/x"], ["--audit-log-path", "/x"], ["--authorization-kubeconfig=/x"]]
)
def test_flags_of_every_api_server_are_named_and_dropped(arguments: list[str]) -> None:
    found = read_flags([*arguments, "--secure-port=1"], PAGE)
    assert found.values == {"secure-port": ["1"]}
    assert len(found.ignored) == 1


@pytest.mark.parametrize("argument", ["--secure-pord=1", "-secure-pord=1"])
def test_an_unknown_flag_is_refused_with_the_nearest_one(argument: str) -> None:
    with pytest.raises(ConfigError, match="unknown flag --secure-pord; did you mean --secure-port"):
        given(argument)


def test_a_stray_word_is_refused() -> None:
    with pytest.raises(ConfigError, match="unknown flag web"):
        given("web")


def test_no_flag_is_both_read_and_ignored() -> None:
    assert not set(given("--leader-elect")) & set(IGNORED)


def test_without_a_command_the_five_of_every_day_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    text = capsys.readouterr().out
    shown = [command for command in COMMANDS if f"  {command} " in text]
    assert sorted(shown) == ["check-trigger", "explain", "local", "scalers", "validate"]
    assert "`keda-py --help` lists all commands" in text


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["help"]])
def test_help_lists_every_command(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 0
    text = capsys.readouterr().out
    assert all(f"  {command} " in text for command in COMMANDS)
    assert "\x1b[" not in text


@pytest.mark.parametrize("command", list(COMMANDS))
def test_every_command_explains_itself(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main([command, "--help"])
    assert exit_.value.code == 0
    assert f"usage: keda-py {command}" in capsys.readouterr().out


def test_an_unknown_command_is_a_usage_error_with_a_hint(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["operater"]) == 2
    assert "did you mean 'operator'?" in capsys.readouterr().err


def test_a_wrong_setting_is_a_usage_error_without_a_stack_trace(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["operator", "--secure-port=x"]) == 2
    error = capsys.readouterr().err
    assert error == "keda-py operator: --secure-port: 'x' is not a port; use a number from 0 to 65535\n"


def test_crds_are_yaml_documents_without_anchors_kedas_first(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["crds"]) == 0
    text = capsys.readouterr().out
    names = [crd["metadata"]["name"] for crd in read_all(text)]
    assert names == [
        "scaledobjects.keda.sh",
        "scaledjobs.keda.sh",
        "triggerauthentications.keda.sh",
        "clustertriggerauthentications.keda.sh",
        "cloudeventsources.eventing.keda.sh",
        "clustercloudeventsources.eventing.keda.sh",
        "calendars.keda-py.dev",
        "clustercalendars.keda-py.dev",
        "environments.keda-py.dev",
        "clusterenvironments.keda-py.dev",
        "overrides.keda-py.dev",
        "scalingschedules.keda-py.dev",
        "kedadefaults.keda-py.dev",
        "clusterkedadefaults.keda-py.dev",
    ]
    assert "&id" not in text
    assert max(map(len, text.splitlines())) < 180


def test_version_names_ours_and_kedas(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    text = capsys.readouterr().out
    assert "keda-py" in text
    assert "2.21" in text


def test_scalers_lists_types_with_their_keys(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scalers"]) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("cron ")]
    assert "start*, end*, timezone*, desiredReplicas*" in line


def test_one_trigger_type_is_explained_key_by_key(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scalers", "cron"]) == 0
    text = capsys.readouterr().out
    rows = [line.split() for line in text.splitlines()]
    assert ["timezone", "string", "required", "metadata", "IANA"] in [row[:5] for row in rows]
    assert "Tested against: recorded readings of KEDA" in text
    assert "- type: cron\n  metadata:\n" in text


def test_an_unknown_trigger_type_gets_the_nearest_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scalers", "crom"]) == 2
    assert "nearest: cron" in capsys.readouterr().err


def test_help_comes_in_a_blink() -> None:
    def seconds() -> float:
        """Of CPU: what other programs take of the machine does not count."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([*FRESH, "--help"], check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    assert min(seconds() for _ in range(3)) < 0.3


IMPORTS = """
import sys
from contextlib import redirect_stdout, suppress
from io import StringIO
from keda_py.cli import COMMANDS, main

def heavy(*names):
    return [name for name in names if name in sys.modules]

clients = ("aiohttp", "httpx", "kubernetes_asyncio", "cryptography")
with redirect_stdout(StringIO()):
    for command in COMMANDS:
        with suppress(SystemExit):
            main([command, "--help"])
    helped = heavy(*clients, "keda_py.validation.report", "keda_py.migration.check", "keda_py.kube.resources")
    for command in (["validate"], ["migrate", "check"]):
        main([*command, sys.argv[1]])
print(helped, heavy(*clients))
"""


def test_help_imports_no_work_and_judging_files_imports_no_client_of_anything() -> None:
    command = [sys.executable, "-c", IMPORTS, str(ROOT / "examples" / "nightly-scale-down")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=240)
    assert done.stdout == "[] []\n"


def test_a_reader_that_leaves_early_is_no_error(tmp_path: Path) -> None:
    errors = tmp_path / "errors"
    with (
        errors.open("w") as stderr,
        subprocess.Popen([*FRESH, "crds"], stdout=subprocess.PIPE, stderr=stderr) as process,
    ):
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.wait() == 0
    assert errors.read_text() == ""


LOCAL = chosen({"with operator": [], "cluster alone": ["--no-operator"]}, {"with operator"})
"""The cluster alone is what the next test starts, on a terminal."""


@pytest.mark.parametrize("flags", LOCAL.values(), ids=LOCAL)
def test_local_prints_its_kubeconfig_and_ends_at_sigterm(flags: list[str], tmp_path: Path) -> None:
    errors, written = tmp_path / "errors", tmp_path / "kubeconfig"
    command = ["local", "--kubeconfig", str(written), *flags]
    with errors.open("w") as stderr:
        process = start(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=stderr)
    assert process.stdout is not None
    with process.stdout as stdout:
        first = stdout.readline()
        process.terminate()
        printed = (first + stdout.read()).decode()
    assert process.wait(timeout=240) == 0, errors.read_text()
    assert read(printed)["current-context"]
    assert written.read_text() == printed
    assert written.stat().st_mode & 0o077 == 0


def test_local_tells_a_person_which_kubeconfig_to_use(tmp_path: Path) -> None:
    main_end, process_end = os.openpty()
    written = tmp_path / "kube config"
    process = start(["local", "--no-operator", "--kubeconfig", str(written)], stdout=process_end)
    os.close(process_end)
    assert os.read(main_end, 4096).decode() == f"export KUBECONFIG='{written}'\r\n"
    process.terminate()
    assert process.wait(timeout=240) == 0
    os.close(main_end)
    assert read_file(written)["current-context"]
    assert written.stat().st_mode & 0o077 == 0


def test_a_manifest_that_cannot_be_read_is_a_usage_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["local", "-f", str(tmp_path / "missing.yaml")]) == 2
    error = capsys.readouterr().err
    assert error.startswith("keda-py local: --filename")
    assert "Traceback" not in error


def test_an_operator_without_a_cluster_says_what_to_do(tmp_path: Path) -> None:
    done = run(["operator", "--kubeconfig", str(tmp_path / "missing")])
    assert done.returncode == 2
    assert "does not exist; correct --kubeconfig" in done.stderr
    assert "Traceback" not in done.stderr


def test_colours_are_for_terminals_and_no_color_is_obeyed() -> None:
    def output(env: dict[str, str]) -> bytes:
        main_end, process_end = os.openpty()
        subprocess.run([*FRESH, "--help"], check=True, stdout=process_end, env={**os.environ, **env})
        os.close(process_end)
        text = os.read(main_end, 4096)
        os.close(main_end)
        return text

    assert b"\x1b[1mcommands:\x1b[0m" in output({"NO_COLOR": ""})
    assert b"\x1b[" not in output({"NO_COLOR": "1"})
