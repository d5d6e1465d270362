"""Where things were made, and what number they have: remembered beside them, not on them."""

import weakref


class Places:
    """What is known of objects, for as long as they live; nothing is written on them, and none is kept alive."""

    def __init__(self):
        self.known: dict[int, tuple] = {}

    def __setitem__(self, thing: object, value: object) -> None:
        self.known[id(thing)] = weakref.ref(thing), value

    def get(self, thing: object) -> object:
        """Return what is known of an object, or None."""
        reference, value = self.known.get(id(thing), (lambda: None, None))
        return value if reference() is thing else None
