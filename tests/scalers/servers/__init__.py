"""Real servers that tests run scalers against: each file starts one kind, in a folder of its own."""
