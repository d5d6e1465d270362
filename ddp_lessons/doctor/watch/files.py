"""To be written."""


def install(journal, limit):
    """Lay the instrument on."""
