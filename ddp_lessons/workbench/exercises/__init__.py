"""The exercises: what each asks is in its notebook; here is how an attempt is tried and judged."""
