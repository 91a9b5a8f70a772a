"""What test/gpu/run is made of, besides its parts. The standard library only."""
