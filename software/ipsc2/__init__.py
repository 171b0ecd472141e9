"""The message system of NX/2 on the nodes of Intel's iPSC/2 (docs/nx2.md)."""
