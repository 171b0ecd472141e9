#include "faults.h"

#include <algorithm>

namespace nectar {

namespace {

// Code bits of half a byte.
constexpr unsigned HALF_BITS = WORD_BITS / 2;

bool is_control(std::uint16_t symbol) { return symbol & CONTROL_BIT; }

std::uint64_t draw(std::uint64_t key, std::uint64_t i) {
    std::uint64_t z = key + (i + 1) * 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

// The symbol with one of its code bits inverted.
std::uint16_t damaged(std::uint16_t symbol, unsigned bit) {
    if (is_control(symbol)) return VIOLATION;
    const unsigned shift = bit < HALF_BITS ? 4 : 0;
    const std::uint8_t group = CODE_GROUPS[symbol >> shift & 0xF] ^ (1u << (HALF_BITS - 1) >> bit % HALF_BITS);
    for (unsigned half = 0; half < 16; ++half) {
        if (CODE_GROUPS[half] == group) return static_cast<std::uint16_t>((symbol & ~(0xF << shift)) | half << shift);
    }
    return VIOLATION;
}

SymbolClass kind_of(std::uint16_t symbol) {
    switch (static_cast<Control>(symbol)) {
        case Control::START: return SymbolClass::START;
        case Control::END: return SymbolClass::END;
        case Control::READY: return SymbolClass::READY;
        case Control::COMMAND: return SymbolClass::COMMAND;
        case Control::REPLY: return SymbolClass::REPLY;
        default: return is_control(symbol) ? SymbolClass::SYMBOL : SymbolClass::DATA;
    }
}

}  // namespace

Faults::Fate Faults::next(std::uint64_t n, std::int64_t start, std::int64_t arrival, std::uint16_t symbol) {
    Place place = place_of(symbol);
    for (const Fault& fault : all) {
        if (fault.harm == FaultEffect::DELAY && fault.holds(start)) arrival += fault.delay;
    }
    arrived_ = arrival = std::max(arrival, arrived_);

    bool lost = false;
    bool doubled = false;
    Fate fate{arrival, symbol, 1, 0, {}};
    for (Fault& fault : all) {
        bool hit;
        std::uint64_t random = 0;
        switch (fault.harm) {
            case FaultEffect::DELAY: hit = fault.holds(start); break;
            case FaultEffect::CUT: hit = fault.cuts(start, arrival); break;
            default: {
                const bool struck = fault.strikes(n, start, place.kind);
                if (fault.framed()) {
                    if (place.frame && place.frame->of == fault.of && place.position == 0) {
                        fault.frame = struck;
                        fault.random = struck ? draw(fault.key, 2 * n + 1) : 0;
                    }
                    hit = fault.frame && place.frame && place.frame->of == fault.of;
                    random = fault.random;
                    if (fault.harm == FaultEffect::ERRORS) {
                        hit = hit && random / WORD_BITS % COMMAND_LENGTH == place.position;
                    }
                } else {
                    if (struck) fault.left = fault.length;
                    hit = fault.left > 0 && start < fault.until;
                    fault.left -= hit;
                    if (hit && fault.harm == FaultEffect::ERRORS) random = draw(fault.key, 2 * n + 1);
                }
                fault.hits += struck;
            }
        }
        if (!hit) continue;
        ++fault.symbols;
        switch (fault.harm) {
            case FaultEffect::ERRORS:
                fate.symbol = damaged(fate.symbol, static_cast<unsigned>(random % WORD_BITS));
                break;
            case FaultEffect::DELAY: ++fault.hits; break;
            case FaultEffect::CUT: ++fault.hits; [[fallthrough]];
            case FaultEffect::LOST: lost = true; break;
            case FaultEffect::DOUBLED:
                if (fault.framed()) {
                    place.frame->again = true;
                } else {
                    doubled = true;
                }
        }
    }
    fate.copies = lost ? 0 : doubled ? 2 : 1;
    if (place.frame) {
        for (int copy = 0; copy < fate.copies; ++copy) place.frame->arrived[place.frame->count++] = fate.symbol;
        if (place.position == COMMAND_LENGTH - 1 && place.frame->again) {
            fate.more = place.frame->count;
            std::copy_n(place.frame->arrived, fate.more, fate.again);
        }
    }
    return fate;
}

// Kind of a symbol, and its place in a frame.
Faults::Place Faults::place_of(std::uint16_t symbol) {
    Place place{kind_of(symbol), nullptr, 0};
    if (is_control(symbol)) {
        if (place.kind == SymbolClass::READY || static_cast<Control>(symbol) == Control::IDLE) return place;
        reply_.missing = 0;
        if (place.kind == SymbolClass::REPLY) {
            place.frame = &reply_;
        } else if (place.kind != SymbolClass::SYMBOL) {
            command_.missing = 0;
            if (place.kind == SymbolClass::COMMAND) place.frame = &command_;
        }
        if (place.frame) {
            place.frame->missing = COMMAND_LENGTH - 1;
            place.frame->again = false;
            place.frame->count = 0;
        }
    } else if (reply_.missing || command_.missing) {
        place.frame = reply_.missing ? &reply_ : &command_;
        place.position = COMMAND_LENGTH - place.frame->missing--;
        place.kind = SymbolClass::SYMBOL;
    }
    return place;
}

std::uint8_t LineFaults::next(std::uint64_t n, std::int64_t start, std::int64_t arrival, std::uint8_t pair) {
    if (!of_message(pair)) return pair;
    std::uint8_t arrives = pair;
    for (Fault& fault : all) {
        if (fault.harm == FaultEffect::CUT) {
            if (!fault.cuts(start, arrival)) continue;
            ++fault.hits;
        } else {
            const bool struck = fault.strikes(n, start, SymbolClass::SYMBOL);
            fault.hits += struck;
            if (struck) fault.left = fault.length;
            if (!fault.left || start >= fault.until) continue;
            --fault.left;
        }
        ++fault.symbols;
        if (fault.harm == FaultEffect::ERRORS) {
            arrives ^= 1u << draw(fault.key, 2 * n + 1) % 2;
        } else {
            arrives &= ~LINE_STROBE;
        }
    }
    return arrives;
}

bool LineFaults::of_message(std::uint8_t pair) {
    if (!(pair & LINE_STROBE)) return false;
    pair &= ~LINE_STROBE;
    if (left_ > 0) {
        if (mark_ && pair & LINE_EOM) message_ = false;
        mark_ = false;
        --left_;
        return word_;
    }
    word_ = pair == LINE_DATA_START;
    if (word_ && padding_) return true;
    mark_ = word_ && message_;
    if (word_) {
        left_ = (message_ ? LINE_WORD_PAIRS : LINE_PROBE_PAIRS) - 1;
        padding_ = !message_;
        message_ = true;
    } else if (pair == LINE_NIBBLE_START) {
        left_ = LINE_NIBBLE_PAIRS - 1;
        padding_ = false;
    }
    return word_;
}

bool Fault::strikes(std::uint64_t n, std::int64_t start, SymbolClass kind) {
    if (!holds(start) || (of != SymbolClass::SYMBOL && of != kind)) return false;
    if (threshold >= 0) return static_cast<std::int64_t>(draw(key, 2 * n) >> 11) < threshold;
    ++seen;
    return seen >= nth && seen - nth < times;
}

}  // namespace nectar
