"""The only importer of kubernetes_asyncio: client, informers, scale, Events, Leases."""
