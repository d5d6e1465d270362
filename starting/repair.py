"""Finds what in .venv is not whole, or names a place where .venv no longer lies."""

import csv
import os
import re
import shutil

# the first lines of a command that pip made, for paths with and without spaces
HEAD = re.compile(rb"""#!(/bin/sh\n'''exec' )?"?/[^\n"]*/bin/python[\d.]*"?( "\$0" "\$@"\n' ''')?\n""")


def forget_broken(venv):
    """Makes pip install again each package that an installation broken off left without all its files."""
    for package in venv.glob("lib/python*/site-packages/*.dist-info"):
        if not is_whole(package):
            print(f"{package.stem} is not whole in .venv: it is installed again.", flush=True)
            shutil.rmtree(package)  # pip then takes it for not installed


def is_whole(package):
    """Says whether the files that a .dist-info folder records are there, each with its size."""
    try:
        with open(package / "RECORD", encoding="utf-8", newline="") as file:
            sizes = {row[0]: int(row[2]) for row in csv.reader(file) if row[2]}
        found = {name: os.stat(package.parent / name).st_size for name in sizes}
    except (OSError, ValueError, IndexError, csv.Error):
        return False
    same = [name.startswith("..") or found[name] == sizes[name] for name in sizes]  # .. : follow_move changed it
    return bool(same) and all(same)


def follow_move(venv):
    """Makes .venv's commands name the Python where it now lies; says whether .venv was moved at all.

    The `activate` that told so is the caller's to write, when all this is done.
    """
    activate = venv / "bin" / "activate"
    if not activate.exists() or str(venv) in activate.read_text(encoding="utf-8"):
        return False
    print(".venv was moved: its commands are made to follow.", flush=True)
    head = f"#!/bin/sh\n'''exec' \"{venv}/bin/python\" \"$0\" \"$@\"\n' '''\n"  # takes spaces, as #! alone does not
    for script in venv.glob("bin/*"):
        old = not script.is_symlink() and HEAD.match(script.read_bytes())
        if old:
            script.write_bytes(head.encode() + script.read_bytes()[old.end() :])
    return True
