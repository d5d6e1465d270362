"""Every way to lose the single-card answer, each beside its repair, for real ranks."""
