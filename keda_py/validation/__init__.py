"""`keda-py validate`: what admission would say, and more, about manifests in files, without a cluster.

documents.py (text -> objects that know their lines) -> release.py (what the files hold together) -> checks.py (schema,
admission checks, triggers) -> findings, printed by `keda_py/cli/validate.py`.
"""
