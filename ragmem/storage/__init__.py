"""The catalog: what ragmem knows for certain, in one SQLite file; all else can be rebuilt from it."""
