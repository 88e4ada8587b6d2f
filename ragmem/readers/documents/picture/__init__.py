"""The metadata of an image file: EXIF, XMP, IPTC and text chunks."""
