"""Writers of what is made from the command tree."""
