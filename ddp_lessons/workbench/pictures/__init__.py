"""Pictures to move by mouse or keyboard, drawn from the functions that the lessons run."""
