"""What shows that the CAB is right: a bench for each of its components, a reference model of the whole board."""
