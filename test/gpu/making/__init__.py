"""What test/gpu/bundle is made of."""
