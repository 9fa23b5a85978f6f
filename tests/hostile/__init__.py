"""Two tenants and one operator: what one of them does must not stop, slow or show anything to the other.

A real cluster, the real operator as a process, an innocent tenant (`innocent.py`) that is fed by an honest process of
its own (`witness.py`). Each case (`case.py`) is a hostile object, source or caller; a wave of them is let loose at once,
and then the whole is judged (`judge.py`): still alive, still leading, still quick, still small, and nothing told.

    pytest tests/hostile              waves of cases
    pytest tests/hostile --alone      each case by itself: which one of a wave was it?
    python -m tests.hostile.cases     the list of the cases, as SECURITY.md has it
"""
