"""The interposer: sits between an editor and an ACP agent that knows no reminders, and adds them.

`lane` passes bytes and shows the few lines that matter to `interposer`, which decides; `desk` keeps one
session's reminders; `run` owns the processes. What the agent is shown is in `block`, what the editor
is told in `telling`. Nothing here imports the ACP SDK, and the heavy parts load with the first reminder.
"""
