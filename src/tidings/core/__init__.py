"""The pure core: reminders, transcripts and everything that decides about them.

No clock, no chance, no environment, no I/O: functions take values and give values and records.
Start with `reminder.py`, then `lifecycle.py`.
"""
