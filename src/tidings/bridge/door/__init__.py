"""The door: a private Unix socket through which producers reach sessions, and its client side.

The interposer opens one; `tidings remind` knocks.
"""
