"""Mutation: small faults put into the RTL, one at a time, to see whether benches and proofs find them."""
