"""What runs on a CAB's CPU: kernel, datalink, transport; and the door to the hardware."""
