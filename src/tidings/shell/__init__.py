"""The shell around the core: stamps ids and turns, and writes records to the active log."""
