"""What a HUB counts and records, for those who look into it."""
