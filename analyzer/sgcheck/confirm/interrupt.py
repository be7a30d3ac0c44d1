"""Ctrl-C while others have to be ended: noted at once, raised only where nothing is half done.

An exception out of a signal's handler may come between any two steps: with a lock taken and not yet
given back, or with a server started and nobody yet there to end it.
"""

from __future__ import annotations

import signal
import threading
from typing import Any


class HeldInterrupt:
    """Ctrl-C between `hold` and `release` is kept until `check`, or until `release`.

    The second one is raised at once, in case the first waits for something that never comes; but
    none is once `final` is set, when all that is left to do is to end the others. Where Ctrl-C is
    ignored, is somebody else's matter, or cannot come (not in the main thread), nothing changes.
    """

    def __init__(self) -> None:
        self.final = False
        self._held = False
        self._came = False

    def hold(self) -> None:
        """From here on Ctrl-C is noted."""
        if (
            threading.current_thread() is threading.main_thread()
            and signal.getsignal(signal.SIGINT) is signal.default_int_handler
        ):
            signal.signal(signal.SIGINT, self._note)
            self._held = True

    def _note(self, number: int, frame: Any) -> None:
        if self._came and not self.final:
            raise KeyboardInterrupt
        self._came = True

    def check(self) -> None:
        """A place where the work may end. Raises KeyboardInterrupt if Ctrl-C came."""
        if self._came:
            raise KeyboardInterrupt

    def release(self) -> bool:
        """As before `hold`; whether Ctrl-C came."""
        if self._held:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            self._held = False
        return self._came
