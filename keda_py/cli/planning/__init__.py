"""Commands that show what will happen, what would have happened, and what sleeping has saved."""
