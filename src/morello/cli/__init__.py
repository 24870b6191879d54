"""The command `morello`: one module for each group of subcommands."""
