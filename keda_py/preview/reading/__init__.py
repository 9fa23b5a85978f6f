"""What is previewed, and of when: manifests of files or a cluster made into plans.

In: texts, or a kubeconfig; flags. Out: plans, and sentences about what cannot be read. Next: `preview/replay/`.
"""
