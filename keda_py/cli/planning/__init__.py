"""Commands that tell what will happen, what would, and what was saved."""
