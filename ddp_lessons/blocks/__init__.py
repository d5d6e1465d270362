"""What the lessons share: each function here is copied, word for word, into the scripts that use it."""
