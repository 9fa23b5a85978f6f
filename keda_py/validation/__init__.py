"""`keda-py validate`: findings of admission, and more, about manifests in files, without a cluster.

documents.py (text -> objects that know their lines, and which warnings their comments switch off) ->
release.py (what the files hold together) -> checks.py (schema, admission checks, triggers, meaning) -> findings,
printed by `keda_py/cli/validate.py`.
"""
