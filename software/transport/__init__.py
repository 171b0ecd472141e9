"""The transports of one CAB: datagram, byte stream, request-response, multicast. Source: "The Design of Nectar"
(1989), section 6.2.2."""
