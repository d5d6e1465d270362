"""What only a notebook needs: show and edit a function, write a lesson's script, launch it on ranks."""

from ddp_lessons.workbench.exercises.check import check
from ddp_lessons.workbench.launch import launch
from ddp_lessons.workbench.on_ranks import on_ranks
from ddp_lessons.workbench.scripts import edit, show_diff, write_script
from ddp_lessons.workbench.source import show

__all__ = ["check", "edit", "launch", "on_ranks", "show", "show_diff", "write_script"]
