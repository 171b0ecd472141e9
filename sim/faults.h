// What goes wrong on one direction of a fiber or of a link of lines. docs/faults.md says which symbols are struck and
// what becomes of them.
#pragma once

#include <cstdint>
#include <vector>

#include "nectar_numbers.h"

namespace nectar {

struct Fault {
    FaultEffect harm;
    SymbolClass of;
    std::uint64_t key;         // of its random numbers
    std::int64_t threshold;    // rate * 2**53; -1: by place
    std::uint64_t nth;         // the first and
    std::uint64_t times;       // how many of the eligible symbols are struck
    std::uint64_t length;
    std::int64_t from;         // for symbols that start on the wire from here on
    std::int64_t until;        // and before this
    std::int64_t delay;

    std::uint64_t hits = 0;
    std::uint64_t symbols = 0;
    std::uint64_t seen = 0;    // eligible symbols so far
    std::uint64_t left = 0;    // of a burst
    bool frame = false;        // the frame under way is struck
    std::uint64_t random = 0;  // what was drawn for it

    bool framed() const { return of == SymbolClass::COMMAND || of == SymbolClass::REPLY; }
    bool holds(std::int64_t start) const { return start >= from && start < until; }
    bool cuts(std::int64_t start, std::int64_t arrival) const {
        return harm == FaultEffect::CUT && start < until && arrival > from;
    }
    // Whether it strikes symbol n of its direction, counting it.
    bool strikes(std::uint64_t n, std::int64_t start, SymbolClass kind);
};

class Faults {
  public:
    // A symbol in a frame may arrive twice, and then the frame as it arrived.
    static constexpr unsigned MOST = 2 * COMMAND_LENGTH;

    // What becomes of a symbol.
    struct Fate {
        std::int64_t arrival;
        std::uint16_t symbol;       // as what it arrives,
        int copies;                 // how often,
        int more;                   // and how many symbols come behind it:
        std::uint16_t again[MOST];  // the frame that it has completed, once more
    };

    std::vector<Fault> all;
    Fate last{};  // of the symbol sent last

    // Symbol n of the direction starts at `start` and would arrive at `arrival`.
    Fate next(std::uint64_t n, std::int64_t start, std::int64_t arrival, std::uint16_t symbol);

  private:
    struct Frame {
        SymbolClass of;
        unsigned missing = 0;  // bytes
        bool again = false;
        int count = 0;
        std::uint16_t arrived[MOST]{};
    };

    struct Place {
        SymbolClass kind;
        Frame* frame;
        unsigned position;
    };

    Place place_of(std::uint16_t symbol);

    Frame command_{SymbolClass::COMMAND};
    Frame reply_{SymbolClass::REPLY};
    std::int64_t arrived_ = 0;  // when the symbol before arrives
};

// The same on one direction of a link of lines: docs/faults.md, "Links of lines".
class LineFaults {
  public:
    std::vector<Fault> all;

    // At tick n the pair (4: with a strobe) starts at `start` and would be at the other board's pins at `arrival`: as
    // what it is there.
    std::uint8_t next(std::uint64_t n, std::int64_t start, std::int64_t arrival, std::uint8_t pair);

    // The pairs of so many ticks, all of idle lines, were not told; the last one was this.
    void skip(std::int64_t ticks, std::uint8_t pair) {
        if (ticks % 2) of_message(pair);
    }

    bool cut(std::int64_t start, std::int64_t arrival) const {
        for (const Fault& fault : all) {
            if (fault.cuts(start, arrival)) return true;
        }
        return false;
    }

  private:
    // Whether the pair is one of a probe or a word.
    bool of_message(std::uint8_t pair);

    unsigned left_ = 0;       // pairs of the frame under way that are to come
    bool word_ = false;       // it is a probe or a word,
    bool mark_ = false;       // whose next pair has EOM
    bool message_ = false;    // the probe has begun;
    bool padding_ = false;    // its upper 8 bits may come, pairs of zeros
};

}  // namespace nectar
