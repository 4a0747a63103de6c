"""Hosts that can be reached from outside, without a hook: the hub speaks to them by itself."""
