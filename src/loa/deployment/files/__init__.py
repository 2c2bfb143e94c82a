"""Problems and solutions in files."""
