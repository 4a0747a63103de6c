"""What `tidings connect` and `tidings disconnect` share: places, plans, the manifest, and writing files."""
