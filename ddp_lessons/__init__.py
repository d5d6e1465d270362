"""From a single-card training script to one that runs on many, a lesson a module."""


def load_ipython_extension(ipython) -> None:
    """Give the notebook `%%ranks`, on `%load_ext ddp_lessons`."""
    from ddp_lessons.workbench.ranks_magic import RanksMagics  # here, so that a script's imports stay light

    ipython.register_magics(RanksMagics)


def unload_ipython_extension(ipython) -> None:
    """End the ranks, on `%unload_ext ddp_lessons`; they end with the notebook's kernel anyway."""
    ipython.magics_manager.registry["RanksMagics"].stop()
