"""What shows that the rest is right: benches, models, benchmarks."""
