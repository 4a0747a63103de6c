"""The panel: one page of plain modules that shows what reaches the user's agents, and why."""
