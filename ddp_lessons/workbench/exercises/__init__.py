"""The exercises, and what checks a reader's answers to them."""
