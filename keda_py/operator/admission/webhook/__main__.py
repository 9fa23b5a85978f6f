"""The webhook process, as the operator starts it: first of all, what it does not need is left out."""

import importlib
import sys

from keda_py.operator.admission.webhook.omissions import leave_out

if __name__ == "__main__":
    leave_out()
    life = importlib.import_module("keda_py.operator.admission.webhook.life")
    sys.exit(life.main(sys.argv[1:]))
