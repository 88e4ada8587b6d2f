"""`ragmem models`: one module for each subcommand."""
