"""Facts that outlive a session: stored with their evidence, recalled by BM25.

`default` holds `store_fact`, `recall_facts` and `invalidate_facts`; `store.FactStore` is the same
on a file of one's own; `fact` is the value. Importing this package loads none of them.
"""
