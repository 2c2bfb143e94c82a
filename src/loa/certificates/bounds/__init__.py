"""Bounds: functions that take numbers and return a number, with the certificates built upon them elsewhere."""
