"""The five experiments of section 6 of the paper."""
