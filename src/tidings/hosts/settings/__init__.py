"""Settings files of hosts, changed as text, so that what is not ours keeps every byte. Pure."""
