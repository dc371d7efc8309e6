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

__all__ = ["Screen", "pygame"]

_UNSEEN = ("offscreen", "dummy")
"""SDL's video drivers without a display, unless the user chose one."""


class Screen:
    """A window that shows pictures; it opens with the first one.

    Parameters
    ----------
    title
        Title of the window.
    resizable
        Whether the user may change its size.
    """

    def __init__(self, title: str, resizable: bool = False) -> None:
        self.title = title
        self.resizable = resizable
        self.closed = False
        """Whether it was open and has been closed."""
        self._window: pygame.Window | None = None
        self._clock: Any = None

    def __getstate__(self) -> dict[str, Any]:
        """A copy opens its own window, when it shows something."""
        return {**self.__dict__, "_window": None, "_clock": None}

    @property
    def size(self) -> tuple[int, int] | None:
        """Width and height in pixels, which the user may have changed; None while it is not open."""
        return None if self._window is None else self._window.size

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
            self._window = pygame.Window(self.title, (width, height), resizable=self.resizable)
            self._clock = pygame.Clock()
        surface = self._window.get_surface()
        surface.blit(pygame.image.frombuffer(picture.tobytes(), (width, height), "RGB"), (0, 0))
        self._window.flip()
        if fps:
            self.events()
            self._clock.tick(fps)

    def events(self, patience: int = 0) -> list[pygame.Event]:
        """The events of the window since the last call; if the user has closed it, it is closed.

        Parameters
        ----------
        patience
            Milliseconds to wait for an event.
        """
        if self._window is None:
            return []
        mine: list[Any] = []
        others: list[Any] = []
        first = [pygame.event.wait(patience)] if patience else []
        for event in [*first, *pygame.event.get()]:
            window = getattr(event, "window", None)
            (mine if window is None or window == self._window else others).append(event)
        for event in others:
            pygame.event.post(event)
        if any(event.type in (pygame.WINDOWCLOSE, pygame.QUIT) for event in mine):
            self.close()
        return mine

    def close(self) -> None:
        """Close the window permanently."""
        if self._window is not None:
            self._window.destroy()
        self._window = None
        self.closed = True
