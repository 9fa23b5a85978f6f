"""A trigger type of your own."""
