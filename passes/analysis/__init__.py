"""What is known of a program: values, memory effects, lifetimes, order. Analyses change nothing."""
