"""Hook calls of the hosts, answered by the hub: what waits for a session goes out with the next one."""
