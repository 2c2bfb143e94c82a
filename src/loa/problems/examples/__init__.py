"""Problem classes that come with loa: those of the paper's experiments, and a few others."""
