"""Generated Verilog as people read it: plain names, each kind of module once, nothing for a linter to stumble over.

``tidy`` takes the text that ``verilog.convert`` gives and changes how it is written, never what it does:

- no escaped names: the module ``hub.input_0.head`` becomes ``hub__input_0__head``, what its instance drives ``head__move``, the value
  that the register ``place`` takes next ``place__next``, an intermediate result ``term_12``, a signal without a name ``private_3``;
- a module's ports stand one to a line: clock, reset, then by name and number;
- modules that differ in nothing but their names are written once, without the number: ``hub__input__head``;
- a register's initial value is a statement of its own, and every ``casez`` has a ``default``;
- assertions, which Verilog-2005 has not, are left out.
"""

import re

__all__ = ["ports", "tidy"]

_MODULE = re.compile(r"^module (?P<name>\\\S+|\w+) ?\((?P<ports>[^)]*)\);\n(?P<body>.*?)^endmodule$", re.M | re.S)
_TOKEN = re.compile(r"""
    "[^"]*" | \(\*.*?\*\) | /\*.*?\*/ | \d*'s?[bodh][0-9a-f?xz_]+     # left as they are
    | (?P<name>\\\S+[ ]?|[A-Za-z_][\w$]*)""", re.X | re.S)
_NEXT = re.compile(r"^  always @\(posedge [^\n]*\)\n    (?P<register>\\\S+|\w+) +<= (?P<next>\\\$\d+) ;$", re.M)
_INSTANCE = re.compile(r"^  (?P<module>\\\S+|\w+) +(?P<name>\\\S+|\w+) +\(\n(?P<pins>(?:    \.[^\n]*\n)+)  \);$", re.M)
_PIN = re.compile(r"^    \.(?P<pin>\\\S+|\w+) ?\((?P<wire>.*)\),?$", re.M)
_DIRECTION = re.compile(r"^  (input|output) (?:\[(\d+):0\] )?(\\\S+|\w+) ?;$", re.M)
_INITIAL = re.compile(r"^  reg (?P<range>\[[^\]]*\] )?(?P<name>\w+) = (?P<value>\d+'[^;]*);$", re.M)
_ASSERTION = re.compile(r"^  always @\*\n    if \([^\n]*\) begin\n(?:      [^\n]*\n)*?      (?:assert|assume|cover) [^\n]*\n    end\n", re.M)
_ATTRIBUTE = re.compile(r"^ *\(\* (?:generator|init|full_case|top) = .*\*\)\n", re.M)

def _readable(name):
    """What an identifier, given as it was written, is called if nothing better is known."""
    word = re.fullmatch(r"\\([A-Za-z]\w*)", name.strip())
    if word:                                # escaped for no other reason than that Verilog or SystemVerilog has this word
        return f"{word[1]}_"
    name = name.strip().removeprefix("\\")
    if "verilog_backend" in name:
        return "wake"                       # what has the always blocks run at time 0
    name = re.sub(r"^\$signal", "private", name)
    name = re.sub(r"^\$(?=\d)", "term_", name)
    name = re.sub(r"\W", "_", name.replace(".", "__").replace("$", "_")).strip("_")
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
        self.instances = set()              # names that it has where it is used
        self.names = {}

    def rename(self, modules):
        """Finds the plain names; ``modules`` are all of the text by name."""
        found = dict.fromkeys(match["name"].strip() for match in _TOKEN.finditer(self.body) if match["name"])
        wanted = {}
        for instance in _INSTANCE.finditer(self.body):
            for pin in _PIN.finditer(instance["pins"]):
                wire = pin["wire"].strip()
                if wire in found and pin["pin"] in modules[instance["module"]].outputs:
                    wanted[wire] = f"{_readable(instance['name'])}__{_readable(pin['pin'])}"
        for match in _NEXT.finditer(self.body):
            register = match["register"]
            wanted[match["next"]] = f"{wanted.get(register) or _readable(register)}__next"
        for port in self.ports:
            wanted.pop(port, None)
        for name in self.instances:         # or it would hide the instance that it is in
            if name in found:
                wanted[name] = f"{_readable(name)}_inside"
        taken = {name for name in found if not name.startswith("\\") and name not in wanted}
        for name in sorted(found, key=lambda name: name not in self.ports):
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
            pins = sorted((of.names.get(pin, pin), self._plain(wire).strip()) for pin, wire in _PIN.findall(match["pins"]))
            pins = ",\n".join(f"    .{pin}({wire})" for pin, wire in sorted(pins, key=lambda pin: _natural(pin[0])))
            return f"  {place(match['module'])} {self.names.get(match['name'], match['name'])} (\n{pins}\n  );"

        parts, end = [], 0
        for match in _INSTANCE.finditer(self.body):
            parts += [self._plain(self.body[end:match.start()]), instance(match)]
            end = match.end()
        body = "".join([*parts, self._plain(self.body[end:])])
        ports = ",\n".join(f"  {port}" for port in sorted((self.names.get(port, port) for port in self.ports), key=_natural))
        return f" (\n{ports}\n);\n{_statements(body)}endmodule\n"


def _statements(body):
    body = _ATTRIBUTE.sub("", _ASSERTION.sub("", body))
    body = _INITIAL.sub(lambda match: f"  reg {match['range'] or ''}{match['name']};\n  initial {match['name']} = {match['value']};", body)
    lines, open_cases = [], []
    for line in body.splitlines():
        if re.match(r" *casez? \(", line):
            open_cases.append(False)
        elif line.strip() == "default:":
            open_cases[-1] = True
        elif line.strip() == "endcase" and not open_cases.pop():
            lines.append(f"{line[:-len('endcase')]}  default: ;")
        lines.append(line)
    return "".join(f"{line}\n" for line in lines)


def tidy(text):
    """The modules of ``text``, the top first, in plain Verilog-2005; comments and what stands between modules are left out."""
    modules = {module.name: module for module in map(_Module, _MODULE.finditer(text))}
    for module in modules.values():
        for instance in _INSTANCE.finditer(module.body):
            modules[instance["module"]].instances.add(instance["name"])
    for module in modules.values():
        module.rename(modules)
    written, new_names = {}, {}      # text of a module → its new name; old name → new name

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
    declared = {name: (name, direction, int(high or 0) + 1) for direction, high, name in _DIRECTION.findall(first["body"])}
    return [declared[name.strip()] for name in first["ports"].split(",")]
