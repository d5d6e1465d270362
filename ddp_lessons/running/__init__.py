"""A Python program, run with all its processes: started, watched, and ended without a trace. It imports no torch."""
