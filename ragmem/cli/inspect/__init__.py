"""`ragmem inspect`: one module for each subcommand."""
