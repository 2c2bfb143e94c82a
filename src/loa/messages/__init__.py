"""What loa says to those who use it: refusals in one sentence, warnings, and what a long computation waits for."""
