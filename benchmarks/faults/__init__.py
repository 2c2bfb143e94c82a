"""Faults that loa must survive; `python -m benchmarks.faults` tries them all and writes docs/reliability.md."""
