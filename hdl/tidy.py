"""Generated Verilog as people read it: plain names, each kind of module once, nothing for a linter to stumble over.

``tidy`` takes the text that ``verilog.convert`` gives and changes how it is written, never what it does:

- no escaped names: the module ``hub.input_0.head`` becomes ``hub__input_0__head``, what its instance drives
  ``head__move``, the value that the register ``place`` takes next ``place__next``, an intermediate result ``term_12``,
  a signal without a name ``private_3``;
- a module's ports stand one to a line: clock, reset, then by name and number;
- modules that differ in nothing but their names are written once, without the number: ``hub__input__head``;
- a register's initial value is a statement of its own, and every ``casez`` has a ``default``;
- a part of a variable that is a constant is given in a block that runs at time 0, which ``always @*`` with nothing to
  wait for never does;
- assertions, which Verilog-2005 has not, are left out.
"""

import re

__all__ = ["ports", "tidy"]

_MODULE = re.compile(r"^module (?P<name>\\\S+|\w+) ?\((?P<ports>[^)]*)\);\n(?P<body>.*?)^endmodule$", re.M | re.S)
_TOKEN = re.compile(
    r"""
    "[^"]*" | \(\*.*?\*\) | /\*.*?\*/ | \d*'s?[bodh][0-9a-f?xz_]+     # left as they are
    | (?P<name>\\\S+[ ]?|[A-Za-z_][\w$]*)""",
    re.X | re.S,
)
_NEXT = re.compile(r"^  always @\(posedge [^\n]*\)\n    (?P<register>\\\S+|\w+) +<= (?P<next>\\\$\d+) ;$", re.M)
_INSTANCE = re.compile(r"^  (?P<module>\\\S+|\w+) +(?P<name>\\\S+|\w+) +\(\n(?P<pins>(?:    \.[^\n]*\n)+)  \);$", re.M)
_PIN = re.compile(r"^    \.(?P<pin>\\\S+|\w+) ?\((?P<wire>.*)\),?$", re.M)
_DIRECTION = re.compile(r"^  (input|output) (?:\[(\d+):0\] )?(\\\S+|\w+) ?;$", re.M)
_INITIAL = re.compile(r"^  reg (?P<range>\[[^\]]*\] )?(?P<name>\w+) = (?P<value>\d+'[^;]*);$", re.M)
_ASSERTION = re.compile(
    r"^  always @\*\n    if \([^\n]*\) begin\n(?:      [^\n]*\n)*?      (?:assert|assume|cover) [^\n]*\n    end\n", re.M
)
_CLOCKED_ASSERTIONS = re.compile(
    r"^  always @\(posedge [^\n]*\) begin\n"
    r"(?:    if \([^\n]*\) begin\n(?:      [^\n]*\n)*?      (?:assert|assume|cover) [^\n]*\n    end\n)+  end\n",
    re.M,
)
_CONSTANT = re.compile(r"^  always @\*\n    (?P<to>\S+) = (?P<value>\d+'[bodh][0-9a-f]+);$", re.M)
_ATTRIBUTE = re.compile(r"^ *\(\* (?:generator|init|full_case|top) = .*\*\)\n", re.M)
#: Words of Verilog and SystemVerilog, which many tools read Verilog files as; no name may be one.
_WORDS = frozenset(
    """
    accept_on alias always always_comb always_ff always_latch and assert assign assume automatic before begin bind bins
    binsof bit break buf bufif0 bufif1 byte case casex casez cell chandle checker class clocking cmos config const
    constraint context continue cover covergroup coverpoint cross deassign default defparam design disable dist do edge
    else end endcase endchecker endclass endclocking endconfig endfunction endgenerate endgroup endinterface endmodule
    endpackage endprimitive endprogram endproperty endsequence endspecify endtable endtask enum event eventually expect
    export extends extern final first_match for force foreach forever fork forkjoin function generate genvar global
    highz0 highz1 if iff ifnone ignore_bins illegal_bins implements implies import incdir include initial inout input
    inside instance int integer interconnect interface intersect join join_any join_none large let liblist library
    local localparam logic longint macromodule matches medium modport module nand negedge nettype new nexttime nmos nor
    noshowcancelled not notif0 notif1 null or output package packed parameter pmos posedge primitive priority program
    property protected pull0 pull1 pulldown pullup pulsestyle_ondetect pulsestyle_onevent pure rand randc randcase
    randsequence rcmos real realtime ref reg reject_on release repeat restrict return rnmos rpmos rtran rtranif0
    rtranif1 s_always s_eventually s_nexttime s_until s_until_with scalared sequence shortint shortreal showcancelled
    signed small soft solve specify specparam static string strong strong0 strong1 struct super supply0 supply1
    sync_accept_on sync_reject_on table tagged task this throughout time timeprecision timeunit tran tranif0 tranif1
    tri tri0 tri1 triand trior trireg type typedef union unique unique0 unsigned until until_with untyped use uwire var
    vectored virtual void wait wait_order wand weak weak0 weak1 while wildcard wire with within wor xnor xor
""".split()
)


def _readable(name):
    """What an identifier, given as it was written, is called if nothing better is known."""
    name = name.strip().removeprefix("\\")
    if "verilog_backend" in name:
        return "wake"  # what has the always blocks run at time 0
    name = re.sub(r"^\$(?=\d)", "term_", re.sub(r"^\$signal", "private", name))
    name = re.sub(
        r"(\$\d+)+(?=$|\.)", "", name
    )  # numbers of this one place, which would make every place a module of its own
    name = re.sub(r"\W", "_", name.replace(".", "__").replace("$", "_")).strip("_")
    if name in _WORDS:
        return f"{name}_"
    return name if re.match(r"[A-Za-z]", name) else f"signal_{name}"


def _natural(name):
    """Key that puts clocks first, resets second, and port_2 before port_10."""
    kind = next((rank for rank, end in enumerate(("clk", "rst")) if name == end or name.endswith(f"_{end}")), 2)
    return kind, [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]


class _Module:
    """One module of the text: ``name``, and the plain ``names`` of its signals by those that they had."""

    def __init__(self, match):
        self.name = match["name"]
        self.body = match["body"]
        self.ports = [port.strip() for port in match["ports"].split(",")]
        self.outputs = {name for direction, _, name in _DIRECTION.findall(self.body) if direction == "output"}
        self.instances = set()  # names that it has where it is used
        self.names = {}

    def rename(self, modules):
        """Finds the plain names; ``modules`` are all of the text by name."""
        found = dict.fromkeys(
            match["name"].strip()
            for match in _TOKEN.finditer(self.body)
            if match["name"] and match["name"] not in _WORDS
        )
        wanted = {}
        for instance in _INSTANCE.finditer(self.body):
            for pin in _PIN.finditer(instance["pins"]):
                wire = pin["wire"].strip()
                if wire in found and pin["pin"] in modules[instance["module"]].outputs:
                    wanted[wire] = f"{_readable(instance['name'])}__{_readable(pin['pin'])}"
        for port in self.ports:
            wanted.pop(port, None)
        for name in found:
            if _readable(name) in self.instances:  # it would hide the instance that it is in
                wanted[name] = f"{_readable(name)}_inside"
        nexts = {match["next"]: match["register"] for match in _NEXT.finditer(self.body)}
        taken = self.instances | {name for name in found if not name.startswith("\\") and name not in wanted}
        for name in sorted(found, key=lambda name: (name in nexts, name not in self.ports, _natural(name))):
            if name in nexts:
                wanted[name] = f"{self.names.get(nexts[name], nexts[name])}__next"
            if name.startswith("\\") or name in wanted:
                base = new = wanted.get(name) or _readable(name)
                number = 1
                while new in taken:
                    number += 1
                    new = f"{base}_{number}"
                taken |= {new}
                self.names[name] = new

    def _plain(self, text):
        def name(match):
            return self.names.get(match["name"].strip(), match[0]) if match["name"] else match[0]

        return _TOKEN.sub(name, text)

    def rewritten(self, modules, place):
        """The text behind the module's name; ``place`` gives the new name of another module."""

        def instance(match):
            of = modules[match["module"]]
            pins = sorted(
                (of.names.get(pin, pin), self._plain(wire).strip()) for pin, wire in _PIN.findall(match["pins"])
            )
            pins = ",\n".join(f"    .{pin}({wire})" for pin, wire in sorted(pins, key=lambda pin: _natural(pin[0])))
            return f"  {place(match['module'])} {self.names.get(match['name'], match['name'])} (\n{pins}\n  );"

        parts, end = [], 0
        for match in _INSTANCE.finditer(self.body):
            parts += [self._plain(self.body[end : match.start()]), instance(match)]
            end = match.end()
        body = "".join([*parts, self._plain(self.body[end:])])
        ports = ",\n".join(
            f"  {port}" for port in sorted((self.names.get(port, port) for port in self.ports), key=_natural)
        )
        return f" (\n{ports}\n);\n{_statements(body)}endmodule\n"


def _statements(body):
    body = _ATTRIBUTE.sub("", _CLOCKED_ASSERTIONS.sub("", _ASSERTION.sub("", body)))
    if _CONSTANT.search(body) and "  reg wake = " not in body:
        body = f"  reg wake = 0;\n{body}"
    body = _CONSTANT.sub("  always @* begin\n    if (wake) begin end\n    \\g<to> = \\g<value>;\n  end", body)
    body = _INITIAL.sub(
        lambda match: f"  reg {match['range'] or ''}{match['name']};\n  initial {match['name']} = {match['value']};",
        body,
    )
    lines, open_cases = [], []
    for line in _sorted_declarations(body.splitlines()):
        if re.match(r" *casez? \(", line):
            open_cases.append(False)
        elif line.strip() == "default:":
            open_cases[-1] = True
        elif line.strip() == "endcase" and not open_cases.pop():
            lines.append(f"{line[: -len('endcase')]}  default: ;")
        lines.append(line)
    return "".join(f"{line}\n" for line in lines)


def _sorted_declarations(lines):
    """``lines`` with the declarations at their beginning in the order of the names, ports before the rest."""
    declared = {}
    for count, line in enumerate(lines):
        match = re.match(r"  (input|output|wire|reg|initial) (?:\[[^]]*\] )?(\w+)[^=]*(?:= [^;]*)?;$", line)
        if match is None:
            break
        declared.setdefault(match[2], []).append(line)
    names = sorted(
        declared, key=lambda name: (not declared[name][0].startswith(("  input", "  output")), _natural(name))
    )
    return [line for name in names for line in declared[name]] + lines[count:]


def tidy(text):
    """The modules of ``text``, the top first, in plain Verilog-2005; comments and what stands between modules are
    left out."""
    modules = {module.name: module for module in map(_Module, _MODULE.finditer(text))}
    for module in modules.values():
        for instance in _INSTANCE.finditer(module.body):
            modules[instance["module"]].instances.add(_readable(instance["name"]))
    for module in modules.values():
        module.rename(modules)
    written, new_names = {}, {}  # text of a module → its new name; old name → new name

    def place(name):
        if name not in new_names:
            body = modules[name].rewritten(modules, place)
            if body not in written:
                numbered = _readable(name)
                general = re.sub(r"_\d+(?=__|$)", "", numbered)
                written[body] = numbered if general in written.values() else general
            new_names[name] = written[body]
        return new_names[name]

    for name in modules:
        place(name)
    texts = {name: body for body, name in written.items()}
    return "\n".join(f"module {name}{texts[name]}" for name in dict.fromkeys(new_names[name] for name in modules))


def ports(text):
    """The ports of the first module of a ``text`` by ``tidy``, in their order: a list of (name, direction, width)."""
    first = _MODULE.search(text)
    declared = {
        name: (name, direction, int(high or 0) + 1) for direction, high, name in _DIRECTION.findall(first["body"])
    }
    return [declared[name.strip()] for name in first["ports"].split(",")]
