"""What shows that the VME interface is right: a model of the bus, a checker of its rules, benches."""
