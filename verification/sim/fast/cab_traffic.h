// Random stimuli for the pins of a CAB: what a CPU asks on the bus, and what arrives at the fiber.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "lockstep.h"
#include "nectar_numbers.h"

namespace nectar {

// An access of the CPU.
struct Access {
    std::uint32_t address;
    std::uint32_t data;
    bool write;
    std::uint8_t select = 0xF;
};

// What the stimuli are like for a while.
struct Mood {
    unsigned actions[12];    // how often each kind of action is chosen
    unsigned symbol_gap;     // a symbol in so many cycles; 0: none
    unsigned ready_pattern;  // of the fiber: 0 always, 1 four of five cycles, 2 at random, 3 seldom
    unsigned access_gap;     // cycles between two accesses, at most
    bool user;               // the CPU is in the domain of DOMAIN, else in the kernel's
    bool errors;             // broken frames arrive
    bool sleeps;             // clock edges are left out
    bool resets;
    unsigned packet_bytes;   // at most
    unsigned node_gap;       // the node asks once in so many cycles; 0: never
};

class CabTraffic {
  public:
    // `vme`: the board has VME, with a node behind it.
    CabTraffic(std::uint64_t seed, bool vme);

    // The next access, when the queue has none. `now`: about what TIMER_NOW is.
    Access next(std::uint32_t now);
    // The response to the oldest access.
    void answered(const Access& access, std::uint32_t data, bool error);
    // The node's next accesses, which follow each other if they are more than one; none: it waits.
    std::vector<Access> node();
    // The next symbol that arrives; -1: none in this cycle.
    int symbol();
    bool fiber_ready();
    bool sleeps() { return mood.sleeps && dice.once(2); }
    void new_mood();

    Dice dice;
    Mood mood{};

  private:
    void post(std::uint32_t address, std::uint32_t data) { queue_.push_back({address, data, true}); }
    void load(std::uint32_t address) { queue_.push_back({address, 0, false}); }
    void act(std::uint32_t now);
    void send();
    void receive(std::uint32_t pending);
    void timers(std::uint32_t now);
    void interrupts();
    void protect();
    void memory();
    void anywhere();
    void raise();
    void master();
    std::uint32_t remote();
    void permit();
    void arrive();
    std::uint32_t place(std::uint32_t length);

    std::deque<Access> queue_;
    std::deque<std::uint16_t> stream_;
    unsigned cycle_ = 0;
    unsigned check_ = 0;   // of RX_MODE, as last written
    bool on_ = false;      // domains are on
    bool vme_;
    std::uint32_t opened_ = 0;  // pages of the node's memory that the node has opened
};

}  // namespace nectar
