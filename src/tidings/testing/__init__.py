"""For tests, yours and ours: the log contract suite and hypothesis strategies."""
