"""`tidings hook`, and what it runs. Nothing is imported here: agents wait for `call` to start."""
