// Two boards of the same kind, clocked together with equal inputs; whoever uses it compares what they show.
#pragma once

#include <cstdint>
#include <memory>
#include <random>

#include "board.h"
#include "verilated.h"

namespace nectar {

// Random numbers of a run: the same for the same seed on every host.
class Dice {
  public:
    explicit Dice(std::uint64_t seed) : engine_(seed) {}
    std::uint32_t bits() { return static_cast<std::uint32_t>(engine_() >> 32); }
    // 0 to below - 1.
    std::uint32_t below(std::uint32_t below) {
        return static_cast<std::uint32_t>(std::uint64_t{bits()} * below >> 32);
    }
    // True once in `in` times.
    bool once(std::uint32_t in) { return below(in) == 0; }

  private:
    std::mt19937_64 engine_;
};

// A board of a kind.
struct Side {
    const Kind& kind;
    VerilatedContext context;
    Pins pins;
    void* model;
    void* state;

    explicit Side(const Kind& of) : kind(of), model(kind.make(&context, "board", pins)), state(kind.state(model)) {}
    Side(const Side&) = delete;
    Side& operator=(const Side&) = delete;
    ~Side() { kind.destroy(model); }

    void edge() {
        if (pins.clk_before) {
            *pins.clk_before = 0;
        } else {
            *pins.clk = 0;
            kind.quick(state);
        }
        *pins.clk = 1;
        kind.quick(state);
    }
};

}  // namespace nectar
