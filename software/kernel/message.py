"""A message in data memory, as mailboxes hold it.

Source: "The Design of Nectar" (1989), section 6.1: mailboxes buffer messages in CAB memory.
"""

from .plain import blocking

__all__ = ["Message", "areas_of"]


class Message:
    """Bytes in a CAB's data memory, with what is known of where they come from.

    Members
    -------
    address : int
        Byte address; None for a message without bytes.
    length : int
        Bytes.
    source : int
        ID of the CAB that sent it.
    number : int
        The sender's count of messages to this CAB.
    mailbox : Mailbox
        Where it was sent to.
    reserved : bool
        Whether a place in the mailbox is kept for it, and it is not in there yet.
    layer : int
        Layer (``hdl.host.events``) of a message that was recorded as it arrived; else 0.
    order : int
        The mailbox's count of messages, when it came in.
    landing : Landing or None
        Where in the node's memory its bytes go as they arrive (``software.node.landings``).
    """

    __slots__ = (
        "memory",
        "address",
        "length",
        "source",
        "number",
        "mailbox",
        "reserved",
        "order",
        "filled",
        "idle",
        "layer",
        "landing",
    )

    def __init__(self, memory, address, length, source=None, number=0, mailbox=None):
        self.memory = memory
        self.address = address
        self.length = length
        self.source = source
        self.number = number
        self.mailbox = mailbox
        self.reserved = False
        self.order = 0
        self.filled = 0  # bytes that have arrived, while it is being put together
        self.layer = 0
        self.landing = None
        self.idle = 0  # how often it was looked at since any have

    def __repr__(self):
        return f"<Message of {self.length} bytes from CAB {self.source}, number {self.number}>"

    def __len__(self):
        return self.length

    @blocking
    async def read(self, offset=0, length=None):
        """``length`` bytes from ``offset`` on; all by default. ValueError if the message does not have them."""
        if length is None:
            length = self.length - offset
        if offset < 0 or length < 0 or offset + length > self.length:
            raise ValueError(f"a message of {self.length} bytes has no {length} bytes at {offset}")
        if not length:
            return b""
        if self.address is None:
            raise ValueError("the message has been freed: read it before")
        return await self.memory.read(self.address + offset, length)

    def write(self, data, offset=0):
        """Stores the bytes of ``data`` from ``offset`` on. ValueError if the message does not have them."""
        if offset < 0 or offset + len(data) > self.length:
            raise ValueError(f"a message of {self.length} bytes has no {len(data)} bytes at {offset}")
        if data:
            if self.address is None:
                raise ValueError("the message has been freed: write before")
            self.memory.write(self.address + offset, data)

    def shorten(self, length):
        """Lets it have only its first ``length`` bytes."""
        if self.length and not length:
            self.memory.free(self.address)
            self.address = None
        self.length = length

    def free(self):
        """Gives its memory back, and its place if it was reserved; it must not be used any more. ValueError if it
        has been freed."""
        if self.length:
            if self.address is None:
                raise ValueError("the message has been freed before")
            self.memory.free(self.address)
            self.address = None
        if self.reserved:
            self.reserved = False
            self.mailbox.unkeep(self.length)


def areas_of(data, memory, what="a message is", admit=None):
    """The non-empty areas of ``data``, a Message or a list of (byte address, bytes).

    ``admit``, by default ``memory.admit``, looks at each. Raises TypeError for what is neither; ``what`` begins the
    words then.
    """
    if isinstance(data, Message):
        if data.length and data.address is None:
            raise ValueError("the message has been freed: send it before")
        data = [(data.address, data.length)]
    try:
        areas = [(address, length) for address, length in data if length]
        if isinstance(data, str) or not all(isinstance(each, int) for area in areas for each in area):
            raise TypeError
    except (TypeError, ValueError):
        raise TypeError(f"{what} bytes, a Message or a list of (address, bytes), not {_described(data)}") from None
    for address, length in areas:
        (admit or memory.admit)(address, length)
    return areas


def _described(data):
    """What somebody has given in place of a message."""
    if isinstance(data, str):
        return "str: text.encode() makes bytes of it"
    if isinstance(data, (list, tuple)) and data and all(isinstance(each, int) for each in data):
        return f"a {type(data).__name__} of int: bytes(numbers) makes bytes of it"
    return type(data).__name__
