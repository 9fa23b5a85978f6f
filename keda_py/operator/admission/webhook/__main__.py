"""The webhook process, as the operator starts it: first of all, what it does not need is left out."""

import importlib
import sys

from keda_py.operator.process.memory import leave_out_unused

if __name__ == "__main__":
    leave_out_unused()
    life = importlib.import_module("keda_py.operator.admission.webhook.life")
    sys.exit(life.main(sys.argv[1:]))
