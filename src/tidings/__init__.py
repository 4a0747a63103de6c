"""Tidings tells a running AI agent what just happened around it."""
