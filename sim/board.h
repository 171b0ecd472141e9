// A board as the engine sees it: pins of a Verilated model, by pointer, and what makes and evaluates it.
//
// build.py writes one small file for each kind of board that fills these structures. Every model is a board inside a
// wrapper that registers its inputs (all but slept), so that what is set before an edge counts at the edge after it,
// and no logic hangs on the inputs. The lines of a channel are set for the edge itself: behind them stands a register
// of the board's own.
#pragma once

#include <cstdint>
#include <vector>

#include "mask.h"

class VerilatedContext;

namespace nectar {

// The pins of a port; docs/wire.md.
struct PortPins {
    std::uint16_t* rx_payload;
    std::uint8_t* rx_valid;
    const std::uint16_t* tx_payload;
    const std::uint8_t* tx_valid;
    std::uint8_t* tx_ready;
};

// The pins of a channel of data lines and a strobe in each direction; docs/ipsc2.md. Null where a board has no such
// channel.
struct LinePins {
    std::uint8_t* rx_data = nullptr;
    std::uint8_t* rx_strobe = nullptr;
    const std::uint8_t* tx_data = nullptr;
    const std::uint8_t* tx_strobe = nullptr;
};

// The CPU bus and the stand-by pins; docs/cab.md, docs/ipsc2-node.md.
struct CpuPins {
    std::uint8_t* valid;
    const std::uint8_t* ready;
    std::uint32_t* address;
    std::uint8_t* write;
    std::uint8_t* kernel;
    std::uint8_t* select;
    std::uint32_t* write_data;
    const std::uint8_t* done;
    const std::uint32_t* read_data;
    const std::uint8_t* error;
    const std::uint8_t* irq;
    const std::uint32_t* wake_in;
    std::uint32_t* slept;
    std::uint32_t* left = nullptr;  // words of the access that have not been taken yet; null on a CAB
    std::uint32_t address_mask = 0xFFFFFF;  // of addresses
};

// The pins of a CAB's VME interface that a node needs; docs/vme.md. What the board drives itself of AS*, the data
// strobes, DTACK*, BERR* and BR* is on these lines for it at once.
struct VmePins {
    std::uint8_t* as_n;
    std::uint8_t* ds_n;
    std::uint8_t* write_n;
    std::uint8_t* lword_n;
    std::uint8_t* iack_n;
    std::uint32_t* address;  // A31 to A01
    std::uint8_t* am;
    std::uint32_t* data;
    std::uint8_t* iackin_n;
    std::uint8_t* dtack_n;
    std::uint8_t* berr_n;
    std::uint8_t* br_n;
    std::uint8_t* bgin_n;
    const std::uint8_t* dtack_pull;
    const std::uint8_t* berr_pull;
    const std::uint8_t* irq_pull;
    const std::uint32_t* data_out;
    const std::uint8_t* bbsy_pull;
    const std::uint8_t* br_pull;
    const std::uint8_t* as_n_out;
    const std::uint8_t* as_drive;
    const std::uint8_t* ds_n_out;
    const std::uint8_t* write_n_out;
    const std::uint8_t* lword_n_out;
    const std::uint32_t* address_out;
    const std::uint8_t* am_out;
};

// A signal inside of a board, as wide as the model has it.
class Signal {
  public:
    Signal(const std::uint8_t* at) : at_(at), bytes_(1) {}
    Signal(const std::uint16_t* at) : at_(at), bytes_(2) {}
    Signal(const std::uint32_t* at) : at_(at), bytes_(4) {}
    std::uint32_t operator*() const {
        switch (bytes_) {
            case 1: return *static_cast<const std::uint8_t*>(at_);
            case 2: return *static_cast<const std::uint16_t*>(at_);
            default: return *static_cast<const std::uint32_t*>(at_);
        }
    }

  private:
    const void* at_;
    int bytes_;
};

// Signals inside of a board that are recorded; the names of their members are those in the hardware.
struct Probes {
    struct Output {
        const std::uint8_t* connected;  // where its bits are
        const std::uint8_t* ready;
        std::uint8_t mask;
        const std::uint8_t* owner;
    };

    // An input of a router, and who has one of its outputs; docs/ipsc2.md.
    struct Input {
        std::uint8_t number;
        Signal asks;   // the output that it asks for: one-hot
        Signal probe;  // by which it asks
    };
    struct Owned {
        std::uint8_t number;
        std::vector<std::uint8_t> users;  // numbers of the inputs, as owner has them
        Signal owner;                     // one-hot
        Signal ready;
    };
    // A DMA channel of a node works while one of these is not 0.
    struct Mover {
        std::uint8_t channel;
        std::vector<Signal> works;
    };
    // A message that has been stored, with its marks in the order of ReceivedMark.
    struct Stored {
        Signal arrived;
        Signal words;
        std::vector<Signal> marks;
    };

    std::vector<Input> inputs;    // of a node with its router; else empty, as the next four
    std::vector<Owned> owned;
    std::vector<Mover> movers;
    std::vector<Signal> pending;  // its interrupts
    std::vector<Stored> stored;

    std::vector<Output> outputs;               // of a HUB's status table
    std::vector<const std::uint16_t*> levels;  // of the input queues: of a HUB's ports, or of a CAB
    std::vector<const std::uint8_t*> channels; // of a CAB's DMA, in the order of Channel: not 0 while one works
};

struct Port;
class Processor;
struct Operation;

// A board that can be left alone while bytes of packets pass through it, and be evaluated at these edges later.
// docs/naps.md.
class Napper {
  public:
    // What a board does at its next edges: up to the one so many edges from now it shows nothing but symbols that it
    // sends, and its CPU, which has been at its edge `at`, has no turn and hears of no interrupt, unless something
    // arrives. 1: it must be evaluated. Accesses of the CPU may be part of it.
    struct Rest {
        std::int64_t edges = 1;
        bool sends = false;           // symbols that are known, as fast as the fiber takes them
        bool takes_bytes = false;     // bytes that arrive change nothing of this;
        bool takes_controls = false;  // nor do control codes
    };
    virtual Rest rest(const Processor& cpu, std::int64_t at) const = 0;
    // The symbols that it sends next, at most so many, if Rest::sends; how many they are.
    virtual std::size_t ahead(std::uint16_t* symbols, std::size_t most) const = 0;
    // Whether these symbols or Rest may be others if the CPU writes `data` there.
    virtual bool minds(std::uint32_t address, std::uint32_t data) const = 0;
    // Evaluates the board, left alone so far, and its CPU at some edges of a nap, at most so many, from `time` on;
    // `before`: the CPU's number of the edge before. Returns at how many; adds to `awake` at how many of them it would
    // not have slept. What it shows, but for `idle`, is right again after one more edge.
    virtual std::int64_t catch_up(Port& port, Processor& cpu, std::int64_t before, std::int64_t time,
                                  std::int64_t period, std::int64_t edges, std::int64_t& awake) = 0;

  protected:
    ~Napper() = default;
};

// A board through which bytes can flow in a pattern that repeats, and which can then be evaluated later.
// docs/naps.md.
class Relay {
  public:
    // The pattern has so many edges.
    static constexpr std::int64_t PERIOD = 8;
    // How often the pattern of the last PERIOD edges comes again, if nothing arrives but what is under way; 0: that is
    // not known. Call it at each edge whose number, `edge`, is a multiple of PERIOD, behind the evaluation; `time`: of
    // this edge. Bytes of which it is known when they will leave are put on the fibers; told(whom, port, arrival) is
    // called for the first of them at each. Whether they do leave then is looked at when that time has come.
    using Notice = void (*)(void* whom, Port& port, std::int64_t arrival);
    virtual std::uint32_t repeats(Port* ports, std::size_t wired, std::int64_t edge, std::int64_t time,
                                  std::int64_t period, Notice told, void* whom) = 0;
    // The board has been evaluated at the edges of so many patterns more.
    virtual void repeat(Port* ports, std::uint32_t patterns) = 0;

  protected:
    ~Relay() = default;
};

// All pins of a board.
struct Pins {
    std::uint8_t* clk;
    std::uint8_t* rst;
    const std::uint8_t* idle;
    // What the model remembers of clk; setting it to 0 spares the evaluation of the falling edge. May be null.
    std::uint8_t* clk_before;
    std::uint8_t* hub_id = nullptr;  // HUBs only
    CpuPins cpu;           // boards with a CPU only
    VmePins vme{};         // CABs with VME only; else null
    std::vector<PortPins> ports;
    std::vector<LinePins> lines;   // by the number of the channel
    // 1 in the cycles in which the lines move; of boards with lines only.
    std::uint8_t* tick = nullptr;
    // The ports with a symbol at their pins, where the board knows them; else null.
    const Mask* sending = nullptr;
    // And what such a board takes besides rx_valid and tx_ready: the ports at which they are 1.
    Mask* arriving = nullptr;
    Mask* ready = nullptr;
    Napper* napper = nullptr;  // of boards that are one; else null
    Relay* relay = nullptr;    // the same
    Probes probes;
};

// A kind of board. What make() gives is in the state that reset leads to, and has all its inputs at rest.
struct Kind {
    const char* name;  // "cab", "vmecab", "hub16", ...
    bool cpu;
    void* (*make)(VerilatedContext*, const char* scope, Pins&);
    void (*eval)(void* model);
    // The same without what only waveforms need; takes what state() gives.
    void* (*state)(void* model);
    void (*quick)(void* state);
    void (*destroy)(void* model);
    // A line for each state of an FSM and each signal of an enumeration: "module.signal", then each value and its name.
    const char* value_names;
};

// All kinds in this library; a null pointer ends them.
extern const Kind* const KINDS[];

}  // namespace nectar
