"""Plans: which instructions multiply, which engine copies, what memory a kernel takes. Nothing else decides them."""
