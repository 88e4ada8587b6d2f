"""Export, import, backup, restore, salvage."""
