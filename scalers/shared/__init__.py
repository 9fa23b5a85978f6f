"""What several trigger types share: blocks of metadata keys, and the reading of answers."""
