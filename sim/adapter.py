"""What stands between a board's Verilog and the engine: a wrapper that registers its inputs, and pointers to its pins.

The wrapper makes simulation fast. Verilator evaluates all logic that hangs on an input at every evaluation, a second
time after the clock edge; behind registers there is none. The engine gives each input one edge early instead, so the
board sees the same in every cycle as it would without wrapper.
"""

import re

from .node_probes import node_probes

__all__ = ["VME_PINS", "adapter", "kinds", "nameless", "value_names", "wrapper"]

#: Inputs that the wrapper passes on as they are. On the answers of the node's memory hangs a flip-flop only: as on the
#: real bus it sees them in the cycle in which they come.
_DIRECT = ("clk", "slept", "hub_id", "tick", "vme__dtack_n", "vme__berr_n")
#: The same for inputs whose names end so.
_DIRECT_ENDS = ("__rx__data", "__rx__strobe")
_CPU_PINS = (
    "bus__valid",
    "bus__ready",
    "bus__address",
    "bus__write",
    "bus__kernel",
    "bus__select",
    "bus__write_data",
    "bus__done",
    "bus__read_data",
    "bus__error",
    "irq",
    "wake_in",
    "slept",
)
#: What a node needs of the pins of VME, without ``vme__``.
VME_PINS = (
    "as_n",
    "ds_n",
    "write_n",
    "lword_n",
    "iack_n",
    "address",
    "am",
    "data",
    "iackin_n",
    "dtack_n",
    "berr_n",
    "br_n",
    "bgin_n",
    "dtack_pull",
    "berr_pull",
    "irq_pull",
    "data_out",
    "bbsy_pull",
    "br_pull",
    "as_n_out",
    "as_drive",
    "ds_n_out",
    "write_n_out",
    "lword_n_out",
    "address_out",
    "am_out",
)
#: Lines of VME that the board and the node both see: what the board drives is on the line at once.
_WIRED = {
    "vme__dtack_n": "~vme__dtack_pull",
    "vme__berr_n": "~vme__berr_pull",
    "vme__br_n": "~vme__br_pull",
    "vme__as_n": "(vme__as_n_out | ~vme__as_drive)",
    "vme__ds_n": "(vme__ds_n_out | {2{~vme__ds_drive}})",
}
_LINE_PINS = ("rx__data", "rx__strobe", "tx__data", "tx__strobe")
_PORT_PINS = ("rx__payload", "rx__valid", "tx__payload", "tx__valid", "tx__ready")


def _pins(verilog, module):
    """(direction, width, name) of each pin of ``module``, in order."""
    match = re.search(rf"^module {module}\((.*?)\);\n(.*?)^endmodule", verilog, re.M | re.S)
    if not match:
        raise ValueError(f"the Verilog has no module {module}")
    found = {
        name: (direction, int(high or 0) + 1, name)
        for direction, high, name in re.findall(r"^ *(input|output) *(?:\[(\d+):0\])? *(\w+);", match[2], re.M)
    }
    return [found[name.strip()] for name in match[1].split(",")]


def _rest(width, pin):
    """The level of an input while nothing happens; a board with VME answers in A24, in the lower half."""
    if pin.endswith("_n"):
        return (1 << width) - 1
    return int(pin in ("rst", "vme_select__a24") or pin.endswith("tx__ready"))


def _is_direct(pin):
    """Whether the wrapper passes an input on as it is. Behind lines stands a register of the board's own."""
    return pin in _DIRECT or pin.endswith(_DIRECT_ENDS)


def nameless(verilog):
    """The Verilog with all numbered signals, as ``\\$27``, called ``_t27_``, and so left out of waveforms."""
    return re.sub(r"\\\$(\S+)", lambda match: "_t" + re.sub(r"\W", "_", match[1]) + "_", verilog)


def value_names(verilog):
    """Names of values, {"module.signal": {value: name}}, of the signals in the Verilog that are states of FSMs or of
    enumerations. What a module of Amaranth is called is the way to it from the top."""
    found, module, names = {}, "", {}
    for line in verilog.splitlines():
        if match := re.match(r"module \\?(\S+?) ?\(", line):
            module = match[1]
        elif match := re.match(r' *\(\* enum_value_([01]+) = "(.*)" \*\)$', line):
            names[int(match[1], 2)] = match[2]
        elif match := re.match(r" *(?:input|output|wire|reg) (?:\[\d+:0\] )?\\?(\S+?) ?[;=]", line):
            if names:
                found[f"{module}.{match[1]}"] = names
            names = {}
    return found


def wrapper(verilog, module, name):
    """Verilog of module ``name``: an instance of ``module`` behind registers for its inputs."""
    pins = _pins(verilog, module)
    held = [(width, pin) for direction, width, pin in pins if direction == "input" and not _is_direct(pin)]
    lines = [f"/* verilator tracing_off */\nmodule {name}("]
    lines.append(",\n".join(f"  {direction} wire [{width - 1}:0] {pin}" for direction, width, pin in pins))
    lines.append(");")
    lines += [f"  reg [{width - 1}:0] held_{pin} = {width}'d{_rest(width, pin)};" for width, pin in held]
    lines.append("  always @(posedge clk) begin")
    lines += [f"    held_{pin} <= {pin};" for _, pin in held]
    lines.append("  end\n  /* verilator tracing_on */")
    shown = {pin: f"held_{pin}" for _, pin in held}
    for width, pin in ((width, pin) for _, width, pin in pins if pin in _WIRED):
        lines.append(f"  wire [{width - 1}:0] line_{pin} = {shown.get(pin, pin)} & {_WIRED[pin]};")
        shown[pin] = f"line_{pin}"
    connections = [f".{pin}({shown.get(pin, pin)})" for _, _, pin in pins]
    lines.append(f"  {module} board({', '.join(connections)});\nendmodule\n")
    return "\n".join(lines)


def _number(port):
    """The number at the end of a port's name; 0 of a port without."""
    return int(re.search(r"\d*\Z", port)[0] or 0)


def _member(pin):
    """What Verilator calls a pin."""
    return pin.replace("__", "___05F")


def _probes(cab, ports, root_header):
    """Lines that fill in the registers that are recorded. ValueError if the model has none of that name."""

    def register(path, kind):
        found = re.findall(rf"^ *{kind}/\*\S+\*/ ((?!__V)\w+__DOT__{path});", root_header, re.M)
        if len(found) != 1:
            raise ValueError(f"the model has {len(found)} registers called {path} to record, not 1")
        return f"model->rootp->{found[0]}"

    if cab:
        channels = ["fiber_out__DOT__gather__DOT__gather_state", "fiber_in__DOT__scatter__DOT__running"]
        if "__DOT__vme__DOT__dma__DOT__busy;" in root_header:
            channels.append("vme__DOT__dma__DOT__busy")
        lines = [f"pins.probes.channels.push_back(&{register(channel, 'CData')});" for channel in channels]
        return [*lines, f"pins.probes.levels.push_back(&{register('fiber_in__DOT__level', 'SData')});"]
    lines = [
        f"const auto* {name} = reinterpret_cast<const std::uint8_t*>"
        f"(&{register(f'board__DOT__{name}', '(?:CData|SData|IData|QData|VlWide<[0-9]+>)')});"
        for name in ("connected", "ready_bit")
    ]
    for n in range(ports):
        owner, level = (
            register(f"board__DOT__owner___05F{n}", "CData"),
            register(f"board__DOT__level___05F{n}", "SData"),
        )
        bits = f"connected + {n // 8}, ready_bit + {n // 8}, {1 << n % 8}"
        lines.append(f"pins.probes.outputs.push_back({{{bits}, &{owner}}});")
        lines.append(f"pins.probes.levels.push_back(&{level});")
    return lines


def adapter(verilog, module, name, prefix, root_header, source):
    """C++ text that makes boards of kind ``name`` for the engine.

    ``prefix`` is that of the verilated classes, ``root_header`` the text of the header that declares their state,
    ``source`` that of the file that evaluates it.
    """
    names = {pin for _, _, pin in _pins(verilog, module)}
    cpu = "irq" in names
    ports = sorted((n.removesuffix("__rx__valid") for n in names if n.endswith("__rx__valid")), key=_number)
    lines = sorted((n.removesuffix("__rx__strobe") for n in names if n.endswith("__rx__strobe")), key=_number)
    fill = [f"pins.{pin} = &model->{pin};" for pin in ("clk", "rst", "idle", "hub_id", "tick") if pin in names]
    # Nothing happens at a falling edge; what the model remembers of its clock is one bit. (Strobes of VME have edges,
    # too.)
    memories = re.findall(r"__Vtrigprevexpr\w*", root_header)
    clocks = memories if len(memories) == 1 else [name for name in memories if name == "__Vtrigprevexpr___TOP__clk__0"]
    fill.append(f"pins.clk_before = {f'&model->rootp->{clocks[0]}' if clocks else 'nullptr'};")
    if cpu:
        fill += [
            f"pins.cpu.{pin.removeprefix('bus__')} = &{f'model->{_member(pin)}' if pin in names else 'spare'};"
            for pin in _CPU_PINS
        ]
    if f"vme__{VME_PINS[0]}" in names:
        fill += [f"pins.vme.{pin} = &model->{_member(f'vme__{pin}')};" for pin in VME_PINS]
    if lines:
        fill.append(f"pins.lines.resize({_number(lines[-1]) + 1});")
    for line in lines:
        fill += [
            f"pins.lines[{_number(line)}].{pin.replace('__', '_')} = &model->{_member(f'{line}__{pin}')};"
            for pin in _LINE_PINS
        ]
    for fiber in ports:
        fill.append("pins.ports.emplace_back();")
        fill += [
            f"pins.ports.back().{pin.replace('__', '_')} = &model->{_member(f'{fiber}__{pin}')};" for pin in _PORT_PINS
        ]
    if lines:
        fill += node_probes(verilog, root_header, [_number(line) for line in lines])
    else:
        fill += _probes(cpu, len(ports), root_header)
    # What a model does besides its logic takes two locks.
    root = f"{prefix}___024root"
    declared = f"void {root}___eval({root}* vlSelf);"
    quick = (
        f"{root}___eval(static_cast<{root}*>(state));"
        if declared in source
        else f"static_cast<{prefix}*>(state)->eval();"
    )
    state = f"static_cast<{prefix}*>(model)->rootp" if declared in source else "model"
    rest = [
        f"model->{_member(pin)} = {_rest(width, pin)};"
        for direction, width, pin in _pins(verilog, module)
        if direction == "input"
    ]
    body = "\n    ".join([*rest, "model->eval();", *fill])
    values = "".join(
        f'\n    "{signal} {" ".join(f"{value} {text}" for value, text in names.items())}\\n"'
        for signal, names in value_names(verilog).items()
    )
    return f"""#include "board.h"
#include "{prefix}.h"
#include "{prefix}___024root.h"

{declared if declared in source else ""}

namespace nectar {{

{"static std::uint8_t spare;  // in the place of pins that the board does not have" if "spare" in body else ""}
static void* make(VerilatedContext* context, const char* scope, Pins& pins) {{
    auto* model = new {prefix}(context, scope);
    {body}
    return model;
}}
static void eval(void* model) {{ static_cast<{prefix}*>(model)->eval(); }}
static void* state(void* model) {{ return {state}; }}
static void quick(void* state) {{ {quick} }}
static void destroy(void* model) {{ delete static_cast<{prefix}*>(model); }}

extern const Kind KIND_{name};
const Kind KIND_{name}{{"{name}", {str(cpu).lower()}, make, eval, state, quick, destroy, ""{values}}};

}}  // namespace nectar
"""


def kinds(names, fast=()):
    """C++ text of the table of all kinds of board: those made from Verilog, and the ``fast`` ones."""
    lines = ['#include "board.h"', *(['#include "fast/kinds.h"'] if fast else []), "", "namespace nectar {", ""]
    lines += [f"extern const Kind KIND_{name};" for name in names]
    objects = [f"KIND_{name}" for name in names]
    for name in fast:
        made = name.replace("fast", "FAST_").upper()
        if ports := name.partition("hub")[2]:
            lines.append(f'static const Kind {made} = fast_hub<{ports}>("{name}");')
        objects.append(made)
    lines += [
        f"const Kind* const KINDS[] = {{{', '.join(f'&{made}' for made in objects)}, nullptr}};",
        "",
        "}  // namespace nectar",
        "",
    ]
    return "\n".join(lines)
