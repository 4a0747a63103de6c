"""Tidings."""
