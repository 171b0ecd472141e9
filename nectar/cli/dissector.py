"""Writes the dissector with which Wireshark and tshark understand the packet files of 'nectar run --pcap'."""

from .errors import DONE, UsageError
from .results import check_target, save

HELP = "write the Wireshark dissector for packet files"


def configure(parser):
    """Options of ``nectar dissector``."""
    parser.add_argument(
        "-o",
        dest="output",
        metavar="FILE.lua",
        default="nectar.lua",
        help="where to write it (default: nectar.lua); in Wireshark's folder of personal Lua plug-ins it is always "
        "used, elsewhere with -X lua_script:FILE.lua",
    )


def execute(options):
    """Writes it."""
    from ..software.dissector import lua

    check_target("-o", options.output)
    try:
        save(options.output, lua().encode())
    except OSError as error:
        raise UsageError(f"-o {options.output} cannot be written: {error.strerror}") from error
    print(f"{options.output}: use it as 'tshark -X lua_script:{options.output} -r FILE.pcapng'")
    return DONE
