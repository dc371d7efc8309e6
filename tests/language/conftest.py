"""A running server of the OpenEnv environment."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
ENVIRON = {
    "PYTHONPATH": f"{EXAMPLES}{os.pathsep}{EXAMPLES.parent}",
    "SOLITAIRE_ENV_QUIET": "1",
    "HF_HUB_OFFLINE": "1",
    "TRL_EXPERIMENTAL_SILENCE": "1",
}
os.environ.update(ENVIRON)
sys.path.append(str(EXAMPLES))


@pytest.fixture(scope="session")
def url() -> Iterator[str]:
    """The address of the server."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    module = "solitaire_openenv.server.app"
    server = subprocess.Popen([sys.executable, "-m", module, "--host", "127.0.0.1", "--port", str(port)])
    try:
        for _ in range(600):
            assert server.poll() is None
            try:
                httpx.get(f"http://127.0.0.1:{port}/health").raise_for_status()
                break
            except httpx.TransportError:
                time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(30)
