"""What puts the HUB and the CAB on FPGA boards."""
