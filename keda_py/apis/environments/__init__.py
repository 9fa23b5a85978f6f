"""The wire of environments: Calendar, Environment, Override and ScalingSchedule, group `keda-py.dev`.

Next: `core/environment/`, which decides what these objects ask for. `kinds.py` has their rows; the operator watches
none of them before they stand in the table of `apis/kinds.py`.
"""
