"""What numbers on the fibers and on a CAB's bus are called in waveforms: the tables that the C++ core decodes with
(captions.cpp), and those that a viewer of waveforms translates with (``wave_views``)."""

from enum import Enum

from ..hdl.cab.addresses import REG, REGIONS
from ..hdl.hub.commands import COMMANDS, FORCE, Error
from ..hdl.link.symbol import Control

__all__ = ["ParameterKind", "command_parts", "error_texts", "lines", "opcode_texts", "register_texts", "symbol_texts"]

#: Words at the end of a command's name that say how it is executed.
_MANNERS = ("retry", "reply")


class ParameterKind(Enum):
    """What the third byte of a command is."""

    NONE = 0
    NUMBER = 1
    PORT = 2
    PORT_AND_FLAG = 3  # the flag is FORCE


def command_parts(command):
    """(what, how, ParameterKind) of a Command: ``("test open", ", retry, reply", PORT)`` of *test open retry reply*."""
    words = command.name.split()
    manners = []
    while words[-1] in _MANNERS:
        manners.insert(0, words.pop())
    how = "".join(f", {word}" for word in manners)
    if command.parameter.startswith("not used"):
        kind = ParameterKind.NONE
    elif "port" not in command.parameter.split(",")[0].split():
        kind = ParameterKind.NUMBER
    else:
        kind = ParameterKind.PORT_AND_FLAG if f"| {FORCE:#x}" in command.parameter else ParameterKind.PORT
    return " ".join(words), how, kind


def symbol_texts():
    """{symbol: name} of the control codes; data bytes are numbers."""
    return {int(code): code.name.lower() for code in Control}


def opcode_texts():
    """{opcode: name} of the commands, as ``open, retry, reply``."""
    return {int(command.op): "".join(command_parts(command)[:2]) for command in COMMANDS}


def error_texts():
    """{number: name} of what a refusing reply tells."""
    return {int(error): _words(error.name) for error in Error}


def register_texts():
    """{byte address: name} of the CAB's registers."""
    return {register.address: register.name for register in REG.values()}


def _words(name):
    return name.lower().replace("_", " ")


def _quoted(text):
    return f'"{text}"'


def lines():
    """Lines of C++: what is called how, for captions.cpp."""
    commands = [
        f"{{{int(command.op):#x}, {_quoted(what)}, {_quoted(how)}, ParameterKind::{kind.name}}}"
        for command in COMMANDS
        for what, how, kind in [command_parts(command)]
    ]
    named = {
        "CONTROL_TEXTS": symbol_texts(),
        "ERROR_TEXTS": error_texts(),
        "REGISTER_TEXTS": register_texts(),
    }
    regions = [f"{{{region.base:#x}, {region.end:#x}, {_quoted(name)}}}" for name, region in REGIONS.items()]
    kinds = ", ".join(f"{kind.name} = {kind.value}" for kind in ParameterKind)
    return [
        f"enum class ParameterKind {{ {kinds} }};",
        "struct Text { std::uint32_t number; const char* text; };",
        "struct CommandText { std::uint8_t op; const char* what; const char* how; ParameterKind kind; };",
        "struct RegionText { std::uint32_t base; std::uint32_t end; const char* text; };",
        f"inline constexpr CommandText COMMAND_TEXTS[] = {{ {', '.join(commands)} }};",
        f"inline constexpr RegionText REGION_TEXTS[] = {{ {', '.join(regions)} }};",
        *(
            f"inline constexpr Text {name}[] = {{ "
            + ", ".join(f"{{{number:#x}, {_quoted(text)}}}" for number, text in texts.items())
            + " };"
            for name, texts in named.items()
        ),
    ]
