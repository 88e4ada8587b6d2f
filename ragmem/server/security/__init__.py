"""Authentication, origins, rate limits, sessions, audit."""
