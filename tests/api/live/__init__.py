"""A real server over a database of its own, for tests that need processes to start and to kill."""
