"""Playing and watching: sessions, hints, the terminal, the browser, replay pages.

No rules of any game; positions and legal actions come from the environment.
"""
