"""Common parts of trigger types: blocks of metadata keys, and the reading of answers."""
