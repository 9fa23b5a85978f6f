"""Configuration of the API server's address, our credentials and the connection pool.

The only importer of kubernetes_asyncio. The library reads kubeconfigs, runs exec plugins, re-reads in-cluster tokens
and builds TLS contexts; it sends nothing. An `Access` is one loaded configuration. `transport.py` calls `changed` now
and then and loads a new one, so that a rotated CA or client certificate takes effect without a restart.
"""

import keda_py.kube.thin_import  # noqa: F401 - before the library, which would import its models

# isort: split

import asyncio
import os
import ssl
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
import yaml
from aiohttp.resolver import ThreadedResolver
from kubernetes_asyncio.client.configuration import Configuration
from kubernetes_asyncio.client.rest import RESTClientObject
from kubernetes_asyncio.config import ConfigException, list_kube_config_contexts, load_kube_config
from kubernetes_asyncio.config.incluster_config import SERVICE_HOST_ENV_NAME, InClusterConfigLoader
from kubernetes_asyncio.config.kube_config import KubeConfigLoader
from yarl import URL

from keda_py.errors import ConfigError, Unavailable
from keda_py.net.proxies import Proxies

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
DEFAULT_NAMESPACE = "default"
_HOME_KUBECONFIG = "~/.kube/config"
_MALFORMED = (ConfigException, AssertionError, AttributeError, KeyError, TypeError, ValueError, OSError, yaml.YAMLError)

Fingerprint = tuple[tuple[str, int, int], ...]


@dataclass(slots=True, kw_only=True)
class Access:
    """One loaded configuration with its session; replaced as a whole when one of its files changes."""

    url: str
    proxy: str
    server_hostname: str
    session: aiohttp.ClientSession
    configuration: Configuration
    rest: RESTClientObject
    files: tuple[str, ...]
    seen: Fingerprint
    in_flight: int = 0
    retired: bool = False
    _refreshing: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def authorization(self) -> str:
        """Return the Authorization header, or ""; the newline that may end a token file is removed.

        Raises Unavailable when a plugin or a token file fails: the next request tries again.
        """
        # One refresh at a time: an exec plugin is a process, and a hundred requests would each start one.
        async with self._refreshing:
            try:
                token = await self.configuration.get_api_key_with_prefix("BearerToken")
            except _MALFORMED as error:
                raise Unavailable(f"credentials could not be refreshed: {error}") from error
        return str(token or "").strip()

    def changed(self) -> bool:
        """Return whether a CA, certificate, key or kubeconfig file differs from what was loaded."""
        return _fingerprint(self.files) != self.seen

    async def retire(self) -> None:
        """Close once no request is in flight; streams end by themselves."""
        self.retired = True
        if not self.in_flight:
            await self.session.close()
            await self.rest.close()


async def load_access(kubeconfig: str = "") -> Access:
    """Read `--kubeconfig`, else $KUBECONFIG, else the pod's ServiceAccount, else ~/.kube/config.

    Raises ConfigError that names the file.
    """
    configuration = Configuration(host="")
    # Python 3.13 refuses a CA without key identifiers, which many clusters have; Go's clients accept it, so we do.
    configuration.disable_strict_ssl_verification = True
    origin = _find(kubeconfig)
    try:
        files = await _configure(configuration, origin)
        seen = _fingerprint(files)
        rest = RESTClientObject(configuration)
    except (*_MALFORMED, ssl.SSLError) as error:
        where = origin or "in-cluster configuration"
        raise ConfigError(f"{where}: {error or type(error).__name__}; correct the file", field="kubeconfig") from error
    return Access(
        url=str(configuration.host).rstrip("/"),
        proxy=configuration.proxy or _proxy_for(str(configuration.host)),
        server_hostname=configuration.tls_server_name or "",
        session=_session(rest),
        configuration=configuration,
        rest=rest,
        files=files,
        seen=seen,
    )


def _proxy_for(url: str) -> str:
    """Return the proxy that the environment names for the URL, or "". Raises ConfigError."""
    return str(Proxies.from_environment(os.environ).for_url(URL(url)) or "")


def _session(rest: RESTClientObject) -> aiohttp.ClientSession:
    # Not the library's own session: it trusts the environment, which costs two thread hops a request and would send
    # what ~/.netrc holds. The server's name is asked of the system, not of c-ares as sources are (net/names.py): no
    # tenant chooses it, and the name servers that a VPN brings for some names are known to the system alone.
    # Every watch keeps a connection of its own, so there is no bound on them.
    made = rest.pool_manager.connector
    assert isinstance(made, aiohttp.TCPConnector)
    ssl_context = made._ssl  # the library keeps it nowhere else
    connector = aiohttp.TCPConnector(limit=0, ssl=ssl_context, resolver=ThreadedResolver())
    return aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar())


def _find(kubeconfig: str) -> str:
    """Return the kubeconfig path(s), or "" for the pod's ServiceAccount."""
    named = kubeconfig or os.environ.get("KUBECONFIG", "")
    if named:
        if not any(Path(part).is_file() for part in _paths(named)):
            raise ConfigError(f"kubeconfig: {named} does not exist; correct --kubeconfig or $KUBECONFIG")
        return named
    if os.environ.get(SERVICE_HOST_ENV_NAME):
        return ""
    if Path(_HOME_KUBECONFIG).expanduser().is_file():
        return _HOME_KUBECONFIG
    raise ConfigError("kubeconfig: not in a cluster and no ~/.kube/config; pass --kubeconfig or set $KUBECONFIG")


def context_namespace(kubeconfig: str = "") -> str:
    """Return the namespace that kubectl would use: the context's, or the pod's; `default` if neither names one.

    Raises ConfigError that names the file.
    """
    origin = _find(kubeconfig)
    try:
        if not origin:
            return (SERVICE_ACCOUNT / "namespace").read_text(encoding="utf-8").strip() or DEFAULT_NAMESPACE
        _, active = list_kube_config_contexts(config_file=origin)
        return str(((active or {}).get("context") or {}).get("namespace") or DEFAULT_NAMESPACE)
    except _MALFORMED as error:
        where = origin or "in-cluster configuration"
        raise ConfigError(f"{where}: {error or type(error).__name__}; correct the file", field="kubeconfig") from error


def _paths(origin: str) -> tuple[str, ...]:
    """Split $KUBECONFIG, which may name several files that are merged."""
    return tuple(str(Path(part).expanduser()) for part in origin.split(os.pathsep) if part)


async def _configure(configuration: Configuration, origin: str) -> tuple[str, ...]:
    if not origin:
        return configure_in_cluster(configuration, SERVICE_ACCOUNT)
    loader = await load_kube_config(config_file=origin, client_configuration=configuration, persist_config=False)
    if hasattr(loader, "exec_plugin_expiry"):
        configuration.refresh_api_key_hook = _ExecRefresh(loader)
    trusted = (configuration.ssl_ca_cert, configuration.cert_file, configuration.key_file)
    return (*_paths(origin), *(path for path in trusted if path))


def configure_in_cluster(configuration: Configuration, directory: Path) -> tuple[str, ...]:
    """Load the pod's ServiceAccount as mounted in `directory`; its token is read again every minute."""
    ca = str(directory / "ca.crt")
    InClusterConfigLoader(token_filename=str(directory / "token"), cert_filename=ca).load_and_set(configuration)
    return (ca,)


@dataclass(frozen=True, slots=True)
class _ExecRefresh:
    """Hook that runs an exec plugin again when its token is about to expire; the loader knows when."""

    loader: KubeConfigLoader

    async def __call__(self, configuration: Configuration) -> None:
        await self.loader.load_from_exec_plugin()
        configuration.api_key["BearerToken"] = self.loader.token


def _fingerprint(files: Iterable[str]) -> Fingerprint:
    found = []
    for name in files:
        try:
            stat = Path(name).stat()
        except OSError:
            continue  # the file is being replaced: keep the loaded configuration
        found.append((name, stat.st_mtime_ns, stat.st_size))
    return tuple(found)
