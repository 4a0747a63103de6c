"""The agent loop: sessions, seams, hooks, providers, tools, models and sub-agents."""
