"""Files written whole or not at all, saved algorithms, checkpoints, provenance and caches."""
