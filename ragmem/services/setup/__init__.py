"""The first setup of a machine: what is here, what would be done, and the first answer."""
