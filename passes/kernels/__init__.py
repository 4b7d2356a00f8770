"""What concerns a kernel as a whole: its target, its parameters, its roles, and the last step to PTX instructions."""
