"""Other programs as references for our rules and deals.

The tests marked ``oracle`` run fc-solve, and only on request: ``pytest -m oracle``. The others replay output
of such programs, and need none of them.
"""
