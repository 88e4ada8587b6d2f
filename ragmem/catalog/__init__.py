"""The catalog: what ragmem knows for certain, in one SQLite file; vectors and graph can be rebuilt from it."""
