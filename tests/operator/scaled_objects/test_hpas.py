"""An HPA is brought to what it should be, also where the cache is behind."""

from pathlib import Path

from keda_py.clock import SystemClock
from keda_py.core.hpa.manifest import build_hpa
from keda_py.core.metric_names import name_metrics
from keda_py.core.metric_specs import ExternalMetric
from keda_py.kube.client import KubeClient
from keda_py.kube.informers.cache import Cache
from keda_py.kube.informers.informer_spec import Pool
from keda_py.operator.cluster.caches import keep_hpa
from keda_py.operator.scaled_objects.hpas import Hpas
from tests.external_metrics.rounds import spec_with
from tests.kube.faulty_server import FaultyServer, refuses, says, serving, write_kubeconfig

ALL = "/apis/autoscaling/v2/namespaces/{}/horizontalpodautoscalers"


async def test_one_that_is_gone_though_the_cache_still_has_it_is_made_anew(tmp_path: Path) -> None:
    wanted = spec_with("cron")
    desired = build_hpa(wanted, name_metrics(wanted, [[ExternalMetric(name="cron", target=1)]]))
    name, place = desired["metadata"]["name"], ALL.format(wanted.namespace)
    kept = {**desired, "metadata": {**desired["metadata"], "uid": "u", "resourceVersion": "4", "ownerReferences": []}}
    cache = Cache({})
    cache.put(keep_hpa(kept, Pool()))
    server = FaultyServer()
    server.answer(f"PUT {place}/{name}", refuses(404, "NotFound"))
    server.answer(f"POST {place}", says({**kept, "metadata": {**kept["metadata"], "resourceVersion": "9"}}))
    async with serving(server), KubeClient(SystemClock(), write_kubeconfig(tmp_path / "k", server.url)) as client:
        assert await Hpas(client, cache).ensure(wanted, desired, name) == "9"
