"""The question: dates, routing, scoring, ranking."""
