"""The empty stores of results, also for the commands that search."""

from tests.agents.conftest import empty_stores as empty_stores
