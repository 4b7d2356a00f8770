"""The check of rings: a kernel as programs of its parties, rules for their structure, and a replay for progress."""
