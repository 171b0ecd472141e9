"""The CAB's kernel: threads, timers, data memory, mailboxes, interrupts. Source: "The Design of Nectar" (1989),
section 6.1."""
