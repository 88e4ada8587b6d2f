"""The API of an open memory: the class `Ragmem` and its parts."""
