"""How the redis family asks. In: connection keys and commands. Out: answers of one server, a cluster, or a master.

Next: the trigger types, which make readings of the answers.
"""
