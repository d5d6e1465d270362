"""The instruments: what is laid on torch and Python in each rank, from outside the script's own code.

Each has `install(journal, limit)`. None of them may fail, wait, draw random numbers, or change what the script sees.
"""

from ddp_lessons.doctor.watch import collectives, data, files, random_streams, rows, surroundings, training

INSTRUMENTS = [surroundings, files, collectives, data, rows, random_streams, training]
