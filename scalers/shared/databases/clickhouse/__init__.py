"""ClickHouse: addresses, its native protocol with the types of one column, and questions over HTTP."""
