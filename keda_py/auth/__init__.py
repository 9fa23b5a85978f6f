"""TriggerAuthentication -> parameters; one provider per file."""
