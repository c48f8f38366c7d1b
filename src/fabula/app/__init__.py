"""What the command line, the server and notebooks call: writing, planning, evaluating, conversing, experiments."""
