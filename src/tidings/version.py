"""The version of Tidings: read by the package metadata, the CLI and the wire adapters."""

__version__ = "0.1.0"
