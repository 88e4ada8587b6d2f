"""The configured models over HTTP, in the shape of OpenAI's API, so that other programs can share them."""
