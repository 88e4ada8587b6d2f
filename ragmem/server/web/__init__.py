"""The page of the server; its sources are in web/, what is served in static/ is built from them."""
