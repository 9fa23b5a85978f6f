"""Output for people: consoles that tell a pipe from a terminal, and tables that fit.

In: rows of plain text. Out: what rich prints. Next: the commands in `keda_py/cli`, the screen of `keda_py/demo`.
"""
