"""`keda-py doctor`: what fights with sleep and scaling, the object that does, and the lines that end it."""
