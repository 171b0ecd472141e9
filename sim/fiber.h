// One direction of a fiber: a latch, the wire, and the symbols under way. docs/engine.md, "A fiber".
#pragma once

#include <cstdint>
#include <vector>

namespace nectar {

constexpr std::int64_t NEVER = INT64_MAX;

struct Board;

struct Fiber {
    struct Flight {
        std::int64_t arrival;
        std::uint16_t symbol;
    };

    std::int64_t symbol_ps;
    std::int64_t delay_ps;
    std::int64_t last_start = 0;  // when the last symbol started on the wire; until then the latch is taken
    std::int64_t wire_free = 0;   // when the next one can start
    std::int64_t first = NEVER;   // when the oldest symbol under way arrives
    std::uint32_t head = 0;       // ring: taken out at head, put in at tail
    std::uint32_t tail = 0;
    std::uint32_t mask;
    std::vector<Flight> ring;
    Board* receiver;
    std::uint64_t count = 0;  // symbols sent so far
    int index;                // among all fibers, for the log

    Fiber(std::int64_t symbol, std::int64_t delay, Board* to, int number)
        : symbol_ps(symbol), delay_ps(delay), mask(7), ring(8), receiver(to), index(number) {}

    // Takes a symbol at an edge at `time`; returns when it will have arrived.
    std::int64_t send(std::int64_t time, std::uint16_t symbol) {
        const std::int64_t start = time > wire_free ? time : wire_free;
        last_start = start;
        wire_free = start + symbol_ps;
        const std::int64_t arrival = wire_free + delay_ps;
        ring[tail] = {arrival, symbol};
        if (head == tail) first = arrival;
        tail = (tail + 1) & mask;
        if (tail == head) grow();
        ++count;
        return arrival;
    }

    // Takes out the oldest symbol.
    std::uint16_t receive() {
        const std::uint16_t symbol = ring[head].symbol;
        head = (head + 1) & mask;
        first = head == tail ? NEVER : ring[head].arrival;
        return symbol;
    }

  private:
    void grow() {
        std::vector<Flight> larger(2 * ring.size());
        for (std::size_t i = 0; i < ring.size(); ++i) larger[i] = ring[(head + i) & mask];
        head = 0;
        tail = static_cast<std::uint32_t>(ring.size());
        mask = 2 * mask + 1;
        ring.swap(larger);
    }
};

}  // namespace nectar
