"""What the CAB's CPU asks of its VME interface: accesses to the window, entries of the DMA list."""

from cocotb.triggers import RisingEdge

from nectar.hdl.cab.vme.registers import VME_REG

__all__ = ["SELECTS", "entry", "look", "set_window"]

#: Bytes that an access selects → (offset of the first, bytes).
SELECTS = {
    0b1111: (0, 4),
    0b1100: (0, 2),
    0b0011: (2, 2),
    0b1000: (0, 1),
    0b0100: (1, 1),
    0b0010: (2, 1),
    0b0001: (3, 1),
}


async def set_window(inside, address, modifier):
    """Puts the window at the 8 Mbyte that ``address`` lies in."""
    register = VME_REG["VME_WINDOW"]
    assert await inside.write("vme_window", register.page.put(address >> 23) | register.modifier.put(modifier))


async def look(plug, address, select=15, value=None):
    """An access to the window; None if it ended in an error, else what was read, or 0."""
    plug.put(
        window__valid=1,
        window__address=address & 0x7FFFFC,
        window__write=value is not None,
        window__select=select,
        window__write_data=value or 0,
    )
    while True:
        await RisingEdge(plug.dut.clk)
        if plug.get("window__done"):
            break
    result = None if plug.get("window__error") else 0 if value is not None else plug.get("window__read_data")
    plug.put(window__valid=0)
    await RisingEdge(plug.dut.clk)
    return result


async def entry(inside, send, near, far, length, modifier, half=0, notify=1):
    """Adds an entry to the list; whether it was accepted."""
    register = VME_REG["VD_SEND" if send else "VD_FETCH"]
    assert await inside.write("vd_address", near)
    assert await inside.write("vd_remote", far)
    return await inside.write(
        register.name.lower(),
        register.length.put(length)
        | register.modifier.put(modifier)
        | register.half.put(half)
        | register.notify.put(notify),
    )
