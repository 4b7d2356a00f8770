"""What several passes share: building IR, what is known of indices, how products and copies become instructions."""
