// Two boards side by side, with equal inputs in each cycle: is what they show equal?

#include <cstdint>
#include <cstring>
#include <string>

#include "board.h"
#include "verilated.h"

namespace {

using namespace nectar;

// Set in what is driven into a port in a cycle in which a symbol arrives.
constexpr std::uint16_t VALID = 0x8000;
// Cycles by which the second board may say idle later.
constexpr int MOST_LATE = 4;

struct Side {
    VerilatedContext context;
    const Kind* kind = nullptr;
    void* model = nullptr;
    void* state = nullptr;
    Pins pins;

    explicit Side(const char* name) {
        const Kind* const* known = KINDS;
        while (*known && std::string{(*known)->name} != name) ++known;
        if (!*known) return;
        kind = *known;
        model = kind->make(&context, name, pins);
        state = kind->state(model);
    }
    ~Side() {
        if (kind) kind->destroy(model);
    }

    void drive(const std::uint16_t* rx, const std::uint8_t* ready, bool rst) {
        *pins.rst = rst;
        for (std::size_t n = 0; n < pins.ports.size(); ++n) {
            const PortPins& port = pins.ports[n];
            *port.rx_valid = rx[n] != 0;
            if (rx[n]) *port.rx_payload = rx[n] & 0x1FF;
            *port.tx_ready = ready[n];
            if (pins.arriving) set(*pins.arriving, static_cast<unsigned>(n), rx[n] != 0);
            if (pins.ready) set(*pins.ready, static_cast<unsigned>(n), ready[n] != 0);
        }
    }
    void edge() {
        if (pins.clk_before) {
            *pins.clk_before = 0;
        } else {
            *pins.clk = 0;
            kind->quick(state);
        }
        *pins.clk = 1;
        kind->quick(state);
    }
    std::uint16_t offered(std::size_t n) const {
        const PortPins& port = pins.ports[n];
        return *port.tx_valid ? VALID | *port.tx_payload : 0;
    }
};

// How boards are run and compared; as in hub_lockstep.py.
enum Look : unsigned { REGISTERS = 1, SLEEP = 2 };

// What differs; as in hub_lockstep.py.
enum Difference : int { NOTHING, OFFERED, IDLE, CONNECTED, READY_BIT, LEVEL };

struct Pair {
    Side sides[2];
    bool arrived = false;
    int late = 0;  // cycles for which only the first board has said idle

    Pair(const char* a, const char* b) : sides{Side(a), Side(b)} {}

    // Whether the second board sleeps in this cycle, as the engine would let it.
    bool sleeps(const std::uint16_t* rx, bool rst) {
        bool arrives = rst;
        for (std::size_t n = 0; n < sides[1].pins.ports.size(); ++n) arrives |= rx[n] != 0;
        const bool sleeps = !arrives && !arrived && *sides[1].pins.idle;
        arrived = arrives;
        return sleeps;
    }

    Difference compare(std::size_t& port, unsigned looks, unsigned (&shown)[2]) {
        const auto differ = [&](unsigned a, unsigned b) {
            shown[0] = a;
            shown[1] = b;
            return a != b;
        };
        const Pins &a = sides[0].pins, &b = sides[1].pins;
        for (port = 0; port < a.ports.size(); ++port) {
            if (differ(sides[0].offered(port), sides[1].offered(port))) return OFFERED;
            if (!(looks & REGISTERS)) continue;
            const auto &x = a.probes.outputs[port], &y = b.probes.outputs[port];
            const auto input = [](const Probes::Output& o) { return *o.connected & o.mask ? *o.owner : 0xFFu; };
            const auto ready = [](const Probes::Output& o) { return unsigned{(*o.ready & o.mask) != 0}; };
            if (differ(input(x), input(y))) return CONNECTED;
            if (differ(ready(x), ready(y))) return READY_BIT;
            if (differ(*a.probes.levels[port], *b.probes.levels[port])) return LEVEL;
        }
        late = *a.idle && !*b.idle ? late + 1 : 0;
        return late > MOST_LATE && differ(*a.idle, *b.idle) ? IDLE : NOTHING;
    }
};

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

Pair* lockstep_new(const char* a, const char* b) {
    auto* pair = new Pair(a, b);
    if (pair->sides[0].kind && pair->sides[1].kind) return pair;
    delete pair;
    return nullptr;
}

void lockstep_free(Pair* pair) { delete pair; }

// Steps both boards for so many cycles. `rx`, `ready`: an entry for each cycle and port; `rst`: one for each cycle.
// `offers`: of the first board, for each cycle and port; may be null. Returns the number of cycles done without a
// difference; behind it `what` tells the Difference, the port, and what the two have shown. `looks`: a Look.
long lockstep_run(Pair* pair, long cycles, int id, const std::uint16_t* rx, const std::uint8_t* ready,
                  const std::uint8_t* rst, std::uint16_t* offers, unsigned looks, long* what, std::uint8_t* idle) {
    const std::size_t ports = pair->sides[0].pins.ports.size();
    for (long cycle = 0; cycle < cycles; ++cycle, rx += ports, ready += ports) {
        for (Side& side : pair->sides) {
            *side.pins.hub_id = static_cast<std::uint8_t>(id);
            side.drive(rx, ready, rst[cycle]);
            if (&side == &pair->sides[0] || !(looks & SLEEP) || !pair->sleeps(rx, rst[cycle])) side.edge();
        }
        for (std::size_t n = 0; offers && n < ports; ++n) offers[cycle * ports + n] = pair->sides[0].offered(n);
        idle[cycle] = *pair->sides[0].pins.idle;
        std::size_t port;
        unsigned shown[2];
        const Difference found = pair->compare(port, looks, shown);
        what[0] = found;
        if (found == NOTHING) continue;
        what[1] = static_cast<long>(port);
        what[2] = shown[0];
        what[3] = shown[1];
        return cycle;
    }
    return cycles;
}

}  // extern "C"
#pragma GCC visibility pop
