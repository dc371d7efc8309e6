"""A window on the desktop, by pygame-ce."""

import os
from contextlib import suppress
from typing import Any

from solitaire_env.render.picture import Rgb

# Otherwise pygame prints a line when it is imported.
os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
try:
    import pygame
except ImportError as error:
    raise ImportError('windows need pygame: pip install "solitaire-env[render]"') from error

_UNSEEN = ("offscreen", "dummy")
"""SDL's video drivers without a display, unless the user chose one."""


class Screen:
    """A window that shows pictures; it opens with the first one.

    Parameters
    ----------
    title
        Title of the window.
    """

    def __init__(self, title: str) -> None:
        self.title = title
        self.closed = False
        """Whether it was open and has been closed."""
        self._window: pygame.Window | None = None
        self._clock: Any = None

    def __getstate__(self) -> dict[str, Any]:
        """A copy opens its own window, when it shows something."""
        return {**self.__dict__, "_window": None, "_clock": None}

    def show(self, picture: Rgb, fps: float = 0) -> None:
        """Show a picture, uint8 ``[height, width, 3]``, at most ``fps`` per second; nothing after closing."""
        if self.closed:
            return
        height, width, _ = picture.shape
        if self._window is None:
            with suppress(pygame.error):
                pygame.display.init()
            if not pygame.display.get_init() or (
                pygame.display.get_driver() in _UNSEEN and "SDL_VIDEODRIVER" not in os.environ
            ):
                raise OSError("no display: a window needs one; a video or a text board does not")
            self._window = pygame.Window(self.title, (width, height))
            self._clock = pygame.Clock()
        surface = self._window.get_surface()
        surface.blit(pygame.image.frombuffer(picture.tobytes(), (width, height), "RGB"), (0, 0))
        self._window.flip()
        if fps:
            self.handle_events()
            self._clock.tick(fps)

    def handle_events(self) -> None:
        """Handle the events of the window since the last call: if the user has closed it, it is closed."""
        events = pygame.event.get() if self._window is not None else []
        mine = [event for event in events if getattr(event, "window", None) in (None, self._window)]
        for event in events:
            if event not in mine:
                pygame.event.post(event)
        if any(event.type in (pygame.WINDOWCLOSE, pygame.QUIT) for event in mine):
            self.close()

    def close(self) -> None:
        """Close the window permanently."""
        if self._window is not None:
            self._window.destroy()
        self._window = None
        self.closed = True
