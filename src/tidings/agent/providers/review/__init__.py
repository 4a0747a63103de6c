"""grounded_review: concrete evidence of failure in a tool's result becomes a list of verified findings."""
