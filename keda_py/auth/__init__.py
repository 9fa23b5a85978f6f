"""Authentication of triggers: TriggerAuthentications -> parameters; one provider per file."""
