"""Other people's programs as judges of our rules and deals.

The tests marked ``oracle`` run fc-solve and are left out unless asked for: ``pytest -m oracle``. The others
replay what such programs have printed, and need none of them.
"""
