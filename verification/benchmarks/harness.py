"""A Verilog module around a design for timing it: a register at each of its pins, and few pins of its own.

All inputs come from a shift register, all outputs are taken over by one at a command, so that paths from and to the
pins of the design are timed from register to register, and nothing is optimised away.
"""

from dataclasses import dataclass

__all__ = ["Cost", "HARNESS", "harness"]

HARNESS = "harness"


@dataclass(frozen=True)
class Cost:
    """What the harness itself takes: LUTs and flip-flops."""

    luts: int
    ffs: int


def harness(pins, top):
    """The Verilog text of the harness of the module ``top``, and its Cost.

    ``pins``: (name, direction, width) of each pin; the clock is ``clk``.
    """
    inputs = [(name, width) for name, direction, width in pins if direction == "input" and name != "clk"]
    outputs = [(name, width) for name, direction, width in pins if direction == "output"]
    connections, ends = [".clk(clk)"], [0, 0]
    for index, (vector, group) in enumerate((("drive", inputs), ("watch", outputs))):
        for name, width in group:
            low = ends[index]
            ends[index] += width
            connections.append(f".{name}({vector}[{low + width - 1}:{low}])")
    driven, watched = ends
    text = f"""
module {HARNESS} (clk, shift_in, take, shift_out);
  input clk;
  input shift_in;
  input take;
  output shift_out;
  reg [{driven - 1}:0] drive;
  wire [{watched - 1}:0] watch;
  reg [{watched - 1}:0] taken;
  reg taking;
  assign shift_out = taken[{watched - 1}];
  always @(posedge clk) begin
    taking <= take;
    drive <= {{drive[{driven - 2}:0], shift_in}};
    taken <= taking ? watch : {{taken[{watched - 2}:0], 1'b0}};
  end
  {top} design (
    {f",{chr(10)}    ".join(connections)}
  );
endmodule
"""
    return text, Cost(watched, driven + watched + 1)
