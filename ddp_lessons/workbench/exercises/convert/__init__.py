"""The exercises on converting a script: copy a given one, and check what has become of it, alone and on ranks."""

from ddp_lessons.workbench.exercises.convert.check import check_script, copy_script, show_script

__all__ = ["check_script", "copy_script", "show_script"]
