// What happens, as records in memory: those of the fibers, and those that software and boards have for it.
// docs/recording.md.
#pragma once

#include <cstdint>
#include <vector>

#include "board.h"
#include "faults.h"
#include "nectar_numbers.h"

namespace nectar {

// What was recorded last of a board's pins and registers.
struct Seen {
    std::uint8_t irq = 0;
    std::vector<std::int16_t> inputs;  // for each output of a HUB or a router the input connected to it, or -1
    std::vector<std::uint8_t> ready;   // for each output of a HUB or a router its ready bit
    std::vector<std::uint16_t> steps;  // of the levels of input queues
    std::vector<std::uint8_t> channels;
    std::vector<std::int16_t> asked;  // for each input of a router the output that it asks for, or -1
    std::uint32_t pending = 0;
    bool arrived = false;
};

class Recorder {
  public:
    // Bytes of records from which on they must be taken away.
    static constexpr std::size_t FULL = 1 << 16;

    std::int64_t now = 0;              // time of the edge under way
    std::vector<std::uint8_t> records;
    std::uint64_t dropped = 0;         // records since close()

    Recorder(unsigned groups, std::size_t fibers) : groups_(groups), taps_(fibers) {}

    bool wants(EventGroup group) const { return groups_ & static_cast<unsigned>(group); }
    bool full() const { return records.size() >= FULL; }

    // From here on records are only counted.
    void close() { closed_ = true; }

    void add(std::int64_t time, EventKind kind, unsigned detail, unsigned place, std::uint32_t a, std::int64_t b = 0,
             std::uint32_t c = 0, const std::uint8_t* data = nullptr, std::size_t size = 0);

    // An event of the software of the CPU `place`, as its operation NOTE tells it.
    void note(int place, std::uint32_t what, std::uint32_t a, std::uint64_t b, std::uint32_t c) {
        add(now, static_cast<EventKind>(what & 0xFF), what >> 8 & 0xFF, static_cast<unsigned>(place), a,
            static_cast<std::int64_t>(b), c);
    }

    // A symbol on the fiber with that number starts on the wire at `start`.
    void symbol(int fiber, std::int64_t start, std::uint16_t symbol);

    // A fault has struck it.
    void struck(int fiber, std::int64_t start, std::uint16_t symbol, const Faults::Fate& fate, bool delayed);

    // A cut has taken so many symbols that were under way.
    void cut(int fiber, std::uint64_t symbols) {
        if (symbols && wants(EventGroup::PACKETS)) {
            add(now, EventKind::FAULT, static_cast<unsigned>(FaultMark::LOST), fiber, 0, 0,
                static_cast<std::uint32_t>(symbols) << 16);
        }
    }

    // What has changed in a board at the edge under way.
    void look(int place, const Pins& pins, Seen& seen);

  private:
    // The same of a node with its router.
    void look_node(int place, const Probes& probes, Seen& seen);

    // An output has another input than before; -1 is none.
    void connection(int place, std::uint32_t output, std::int16_t input, std::int16_t& before);

    // A command or a reply under way.
    struct Frame {
        unsigned missing = 0;
        std::uint32_t bytes = 0;
        std::int64_t begin = 0;
    };

    // What a direction of a fiber is in the midst of.
    struct Tap {
        Frame command;
        Frame reply;
        bool open = false;  // a packet
        std::uint32_t number = 0;  // of packets that have begun
        std::int64_t begin = 0;
        std::uint32_t length = 0;
        std::uint32_t last = 0;  // its last four bytes, and of the others
        std::uint32_t crc = 0;
        std::vector<std::uint8_t> head;
    };

    void control(Tap& tap, int fiber, std::int64_t start, Control code);
    void frame(Frame& frame, EventKind kind, int fiber, std::int64_t start, unsigned missing);
    void packet(Tap& tap, int fiber, std::int64_t end, unsigned mark);

    unsigned groups_;
    bool closed_ = false;
    std::vector<Tap> taps_;
};

}  // namespace nectar
