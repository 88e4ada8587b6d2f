"""What an image file says of itself: EXIF, XMP, IPTC and text chunks."""
