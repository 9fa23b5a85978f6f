"""Services of Google that triggers ask by REST. In: an identity, a question. Out: the number that it is about."""
