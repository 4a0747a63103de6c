"""The entry point of the console script: straight to what others wait for, or on to the whole command line.

An editor waits for `tidings acp-proxy` to start, and an agent for each `tidings hook`, so that they take
ways of their own past Typer. Everything else, also their `--help`, goes to `main`.
"""

from __future__ import annotations

import sys

FAST = "acp-proxy"
COMPLETE = "__complete"
"""What the scripts of `tidings completion` call."""
HOOK = "hook"
_SLOW = ("--wake", "--monitor", "-h", "--help")
_WRONG_QUESTION = 2


def run() -> None:
    """Run the command line."""
    arguments = sys.argv[1:]
    if arguments[:1] == [FAST] and not _asks_for_help(arguments[1:]):
        sys.exit(proxy(arguments[1:]))
    if arguments[:1] == [HOOK] and len(arguments) > 1 and not {"mcp", *_SLOW}.intersection(arguments):
        from tidings.cli.hook.call import main

        sys.exit(main(arguments[1:]))
    if arguments[:1] == [COMPLETE]:
        from tidings.cli.completing import run as complete

        complete(arguments[1:])
        return
    from tidings.cli.main import run as run_main

    run_main()


def proxy(arguments: list[str]) -> int:
    """Run the interposer; gives the exit code."""
    from tidings.acp.proxy.options import read_options
    from tidings.acp.proxy.run import run as run_proxy
    from tidings.cli.interposed import join

    try:
        return run_proxy(read_options(arguments), join)
    except _our_error() as error:
        print(f"tidings: {error}", file=sys.stderr)
        return _WRONG_QUESTION


def _asks_for_help(arguments: list[str]) -> bool:
    own = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return "-h" in own or "--help" in own


def _our_error() -> type[Exception]:
    """What is raised on purpose; loaded when something was."""
    from tidings.errors import TidingsError

    return TidingsError
