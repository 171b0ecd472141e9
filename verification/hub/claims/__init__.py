"""What is claimed about a whole HUB, by subject; verification/hub/test_hub.py simulates it."""
