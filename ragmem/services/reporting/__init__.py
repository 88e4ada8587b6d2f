"""What a memory looks like, as plots and as a report: counted in SQL, as of a moment that is given."""
