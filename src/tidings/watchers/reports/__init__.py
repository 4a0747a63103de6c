"""Test reports: what pytest, go, cargo, jest and vitest write becomes one `Report`. Pure."""
