"""What decides and remembers for all ports of a HUB: controller, tables, responses, supervisor commands, watchdog."""
