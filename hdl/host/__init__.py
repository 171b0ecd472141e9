"""The host's cable: what lets a program on a computer be the software of CABs inside an FPGA."""
