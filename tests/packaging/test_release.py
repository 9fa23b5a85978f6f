"""What a release consists of, made as the workflow makes it."""

import re  # noqa: TID251 - constant patterns over our own files
import runpy
import subprocess
import sys
import tarfile
import zipfile
from email import message_from_bytes
from email.message import Message
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from keda_py import __version__
from tests.charts.rendering import helm
from tests.places import ROOT

SOURCE, IMAGE = "https://example.org/them/keda-py", "example.org/them/keda-py"
RELEASE = ROOT / ".ci" / "release.py"
LINK = re.compile(r"\]\(([^)]*)\)")
DIGEST = f"sha256:{'0a' * 32}"


@cache
def rules() -> dict[str, Any]:
    """Return what the script defines; it loads a library with threads of its own, so not before the tests are forked."""
    return runpy.run_path(str(RELEASE))


def release(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(RELEASE), *arguments], capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Everything, as a tag publishes it."""
    out = tmp_path_factory.mktemp("release") / "dist"
    image = ("--image", IMAGE, "--digest", DIGEST)
    done = release("--out", str(out), "--source-url", SOURCE, *image, "--tag", f"v{__version__}")
    assert done.returncode == 0, done.stderr
    assert all(Path(line).is_file() for line in done.stdout.splitlines())
    return out


def metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (one for one in archive.namelist() if one.endswith(".dist-info/METADATA"))
        return message_from_bytes(archive.read(name))


def page(told: Message) -> str:
    body = told.get_payload(decode=True)
    assert isinstance(body, bytes)
    return body.decode()


def test_the_links_of_the_long_description_lead_to_the_tag(made: Path) -> None:
    (wheel,) = (made / "python").glob("*.whl")
    told = metadata(wheel)
    links = [link for link in LINK.findall(page(told)) if not link.startswith("#")]
    assert f"{SOURCE}/blob/v{__version__}/COMPATIBILITY.md" in links
    assert f"{SOURCE}/raw/v{__version__}/timeline.svg" in links
    assert all(link.startswith("https://") for link in links)
    ours = [link.removeprefix(SOURCE).split("/", 3)[-1].partition("#")[0] for link in links if link.startswith(SOURCE)]
    assert all((ROOT / path).exists() for path in ours)


def test_the_project_urls_name_source_documentation_and_changes(made: Path) -> None:
    (wheel,) = (made / "python").glob("*.whl")
    urls = dict(one.split(", ") for one in metadata(wheel).get_all("Project-URL", []))
    assert urls == {
        "Source": SOURCE,
        "Documentation": f"{SOURCE}/blob/v{__version__}/README.md",
        "Changelog": f"{SOURCE}/blob/v{__version__}/CHANGELOG.md",
    }


def test_the_wheel_has_the_embedded_cluster_and_no_page_of_the_repository(made: Path) -> None:
    (wheel,) = (made / "python").glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert "keda_py/localkube/cluster.py" in names
    assert "scalers/reference.toml" in names
    assert not [name for name in names if name.endswith(".md") or name.startswith(("tests/", "hatch_build"))]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("scalers/README.md", "a page", "should not have ['scalers/README.md']"),
        ("keda_py-1.dist-info/METADATA", "Description-Content-Type: text/markdown\n\n# keda-py [a](A.md)", "](A.md)"),
        ("keda_py-1.dist-info/METADATA", "Description-Content-Type: text/x-rst\n\n# keda-py", "is not the README"),
    ],
    ids=["a stray file", "a relative link", "another format"],
)
def test_a_wheel_that_is_not_as_it_has_to_be_is_refused(
    name: str, text: str, message: str, made: Path, tmp_path: Path
) -> None:
    (good,) = (made / "python").glob("*.whl")
    bad = tmp_path / "bad.whl"
    with zipfile.ZipFile(good) as source, zipfile.ZipFile(bad, "w") as target:
        for one in source.namelist():
            if not name.endswith("METADATA") or not one.endswith("METADATA"):
                target.writestr(one, source.read(one))
        target.writestr(name, text)
    with pytest.raises(rules()["ReleaseError"], match=re.escape(message)):
        rules()["check_wheel"](bad, SOURCE)


def test_the_source_distribution_has_no_tests_and_no_charts(made: Path) -> None:
    (sdist,) = (made / "python").glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        tops = {name.split("/")[1] for name in archive.getnames()}
    assert {"keda_py", "scalers", "hatch_build.py", "CHANGELOG.md"} <= tops
    assert not tops & {"tests", "charts", "examples", ".ci"}


@pytest.mark.parametrize("name", ["keda-py", "scaled-app"])
def test_the_published_charts_have_the_version_of_the_release(made: Path, name: str) -> None:
    with helm().Chart.load(str(made / "charts" / f"{name}-{__version__}.tgz")) as chart:
        assert chart.version == __version__


OTHER = f"sha256:{'1b' * 32}"


@pytest.mark.parametrize(
    ("values", "image"),
    [
        ({}, f"{IMAGE}:{__version__}@{DIGEST}"),
        (
            {"global": {"image": {"registry": "mirror.example.net"}}},
            f"{IMAGE.replace('example.org', 'mirror.example.net')}:{__version__}@{DIGEST}",
        ),
        ({"image": {"keda": {"tag": "mine"}}}, f"{IMAGE}:mine"),
        ({"image": {"keda": {"tag": "mine", "digest": OTHER}}}, f"{IMAGE}:mine@{OTHER}"),
    ],
    ids=["as it is", "a mirror", "a tag of one's own", "a digest of one's own"],
)
def test_the_published_chart_installs_the_image_that_was_pushed(made: Path, values: dict[str, Any], image: str) -> None:
    with helm().Chart.load(str(made / "charts" / f"keda-py-{__version__}.tgz")) as chart:
        pages = chart.render(values, name="keda")
    for page in ("deployment", "release"):  # the operator, and the Job before an uninstall
        assert f'image: "{image}"' in pages[f"keda-py/templates/{page}.yaml"]


def test_without_an_address_links_are_text_and_the_chart_asks_for_an_image(tmp_path: Path) -> None:
    done = release("--out", str(tmp_path / "dist"))
    assert done.returncode == 0, done.stderr
    (wheel,) = (tmp_path / "dist/python").glob("*.whl")
    told = metadata(wheel)
    assert "All differences: COMPATIBILITY.md." in page(told)
    assert "timeline.svg" not in page(told)
    assert told.get_all("Project-URL") is None
    with helm().Chart.load(str(tmp_path / f"dist/charts/keda-py-{__version__}.tgz")) as chart:
        assert "No image is named" in chart.render({}, name="keda")["keda-py/templates/NOTES.txt"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--tag", "v99.0.0"], "release: the tag is v99.0.0, pyproject.toml has "),
        (["--tag", __version__], f"tag v{__version__}"),
        (["--tag", f"v{__version__}", "--source-url", SOURCE], "set the variable IMAGE_REPOSITORY"),
        (["--image", "keda-py"], "--image: keda-py is no REGISTRY/REPOSITORY"),
        (["--image", IMAGE, "--digest", ""], "--digest: '' is no sha256:"),
        (["--image", IMAGE, "--digest", "sha256:0a"], "--digest: 'sha256:0a' is no sha256:"),
        (["--digest", DIGEST], "of an image in --image"),
    ],
    ids=["another version", "no v", "no image", "no registry", "no digest", "half a digest", "a digest of nothing"],
)
def test_what_cannot_be_published_is_refused_before_anything_is_made(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert rules()["main"](["--out", str(tmp_path / "dist"), *arguments]) == 1
    assert message in capsys.readouterr().err
    assert not (tmp_path / "dist").exists()


def test_what_is_in_the_folder_stays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine").touch()
    code = rules()["main"](["--out", str(tmp_path)])
    assert (code, [path.name for path in tmp_path.iterdir()]) == (1, ["mine"])
    assert "is not empty" in capsys.readouterr().err
