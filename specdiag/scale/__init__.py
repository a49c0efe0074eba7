"""The same analysis over shards: segments of the input, read in this process or in several, put together in order."""
