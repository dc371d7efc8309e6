"""The web application of the environment."""

import argparse

import uvicorn
from fastapi import Request
from fastapi.responses import JSONResponse
from gymnasium.error import ResetNeeded
from openenv.core import create_app

from solitaire_openenv.models import SolitaireAction, SolitaireObservation
from solitaire_openenv.server.environment import SolitaireEnvironment

app = create_app(
    SolitaireEnvironment,
    SolitaireAction,
    SolitaireObservation,
    env_name="solitaire",
    max_concurrent_envs=64,
)


def explain(request: Request, error: Exception) -> JSONResponse:
    """Say which value was wrong, such as the name of a split, and what is allowed."""
    return JSONResponse({"detail": str(error)}, status_code=400)


for mistake in (ValueError, TypeError, IndexError, ResetNeeded):
    app.add_exception_handler(mistake, explain)


def main() -> None:
    """Serve the environment."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--host", default="0.0.0.0")
    parser.add_argument("--port", type=int, default=8000)
    args = parser.parse_args()
    uvicorn.run(app, host=args.host, port=args.port)


if __name__ == "__main__":
    main()
