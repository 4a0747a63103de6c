"""JSON-RPC for hosts: the reminder methods of a session, their spelling, their errors and their updates.

What ACP, the interposer and the plain newline bridge share. Pure but for `Target`s they are given; the
protocols themselves are in `tidings.acp` and behind `tidings bridge`.
"""
