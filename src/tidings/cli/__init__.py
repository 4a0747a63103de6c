"""The command line: one file per command, loaded when it is asked for.

Exit codes are in `codes.py`, for every command. Errors are one line on standard error.
"""
