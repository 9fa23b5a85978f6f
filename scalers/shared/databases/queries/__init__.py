"""One query of a database as a trigger: the scaler, the connections of a user, and what may change a session."""
