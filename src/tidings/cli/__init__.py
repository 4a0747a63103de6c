"""The command line: one file per command, loaded when it is asked for.

Exit codes, for every command: 0 fine, 1 the answer is bad news (findings, a damaged log), 2 the
question was wrong (unknown option, no such path). Errors are one line on standard error.
"""
