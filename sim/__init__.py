"""What makes boards run: build, engine, fibers, topologies, traces."""
