// A port with its ends of a pair of fibers: the latch and the wire of the one, the symbols under way on the other.
// docs/engine.md, "A fiber".
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "board.h"
#include "faults.h"

namespace nectar {

constexpr std::int64_t NEVER = INT64_MAX;
// When a symbol arrives that gets lost.
constexpr std::int64_t LOST = NEVER - 1;

// The number of the first of so many symbols, from number `from` on, that is no byte; `many`: there is none. Looks at
// four at once, for a fourth of the instructions.
inline std::uint32_t first_control(const std::uint16_t* symbols, std::uint32_t many, std::uint32_t from = 0) {
    constexpr std::uint64_t BITS = (0x1'0000ull - CONTROL_BIT) * 0x0001'0001'0001'0001;
    for (std::uint64_t four; from + 4 <= many; from += 4) {
        std::memcpy(&four, symbols + from, sizeof four);
        if (four & BITS) break;
    }
    while (from < many && symbols[from] < CONTROL_BIT) ++from;
    return from;
}

struct Board;

// What is looked at at every edge comes first, in one line of the host's cache.
struct alignas(64) Port {
    PortPins pins{};
    std::int64_t last_start = 0;  // when the last symbol sent started on the wire; until then the latch is taken
    std::int64_t first = NEVER;   // when the oldest symbol under way to here arrives
    bool ready = true;            // tx_ready as the board sees it at its next edge

    std::int64_t wire_free = 0;   // when the next symbol can start
    std::int64_t symbol_ps = 0;
    std::int64_t delay_ps = 0;
    Port* peer = nullptr;
    Board* board = nullptr;
    Mask* live = nullptr;   // ports of the board at which a symbol is to arrive; may be null
    unsigned place = 0;           // its own place among them
    unsigned number = 0;          // its number on the board
    std::uint64_t count = 0;      // symbols sent so far
    std::uint32_t ahead = 0;      // symbols that are under way before the board has sent them,
    std::int64_t ahead_start = 0; // and when the last of them starts on the wire
    int fiber = 0;                // number of the direction in which it sends, for the recorder
    std::unique_ptr<Faults> faults;  // of that direction; null as long as it has none

    Port() : symbols_(8), arrivals_(8) {}
    Port(const Port&) = delete;
    Port& operator=(const Port&) = delete;

    // Takes a symbol of the board's at an edge at `time`; returns when it will have arrived at the peer, or LOST.
    __attribute__((always_inline)) std::int64_t send(std::int64_t time, std::uint16_t symbol) {
        last_start = time > wire_free ? time : wire_free;
        wire_free = last_start + symbol_ps;
        if (ahead) {
            --ahead;
            ++count;
            return NEVER;  // it is under way already
        }
        const std::int64_t arrival = wire_free + delay_ps;
        if (faults) return struck(arrival, symbol);
        peer->put(arrival, symbol);
        ++count;
        return arrival;
    }

    // Takes out the oldest symbol that has arrived.
    std::uint16_t receive() {
        const std::uint16_t symbol = symbols_[head_];
        head_ = (head_ + 1) & mask_;
        first = head_ == tail_ ? NEVER : arrivals_[head_];
        if (symbol < CONTROL_BIT) {
            --plain_;
        } else if (--controls_) {
            while (symbols_[(head_ + plain_) & mask_] < CONTROL_BIT) ++plain_;
        } else {
            plain_ = level();
        }
        return symbol;
    }

    // Takes out so many of the oldest, which are bytes; to(symbol) gets each.
    template <typename To>
    void receive(std::uint32_t many, To to) {
        for (std::uint32_t n = 0; n < many; ++n) to(symbols_[(head_ + n) & mask_]);
        drop_bytes(many);
    }

    void receive(std::uint32_t many, std::uint16_t* symbols) {
        copy(many, symbols);
        drop_bytes(many);
    }

    // Takes out the bytes that arrive at so many edges, the first of which is at `time`, at most one at each; to(byte,
    // edge) gets each and the edge's number, from 0 on, and says whether it takes it: if not, that is the end.
    template <typename To>
    void receive(std::int64_t time, std::int64_t period, std::int32_t edges, To to) {
        if (first > time + (edges - 1) * period) return;
        std::uint32_t many = 0;
        const std::uint32_t most = std::min(level(), plain_);
        for (std::int32_t edge = 0; many < most; ++many, ++edge, time += period) {
            const std::uint32_t place = (head_ + many) & mask_;
            for (; time < arrivals_[place] && edge < edges; ++edge) time += period;
            if (edge >= edges || !to(symbols_[place], edge)) break;
        }
        drop_bytes(many);
    }

    // At an edge at `time`: samples the outputs and sets the inputs for the edge at `next`. Returns when a symbol that
    // it sent will arrive, LOST, or NEVER. `arrived` becomes true if a symbol is on its way in.
    std::int64_t edge(std::int64_t time, std::int64_t next, bool& arrived) {
        const std::int64_t arrival = *pins.tx_valid & ready ? send(time, *pins.tx_payload) : NEVER;
        ready = last_start <= next;
        *pins.tx_ready = ready;
        const bool valid = first <= next;
        if (valid) {
            *pins.rx_payload = receive();
            arrived = true;
        }
        *pins.rx_valid = valid;
        return arrival;
    }

    // send() for a symbol that is under way already; for so many, of which the last starts at `start`; for so many that
    // leave one behind the other.
    void send_known(std::int64_t time) {
        last_start = time > wire_free ? time : wire_free;
        wire_free = last_start + symbol_ps;
        --ahead;
        ++count;
    }
    void send_known(std::int64_t start, std::uint32_t many) {
        last_start = start;
        wire_free = start + symbol_ps;
        ahead -= many;
        count += many;
    }
    void send_known(std::uint32_t many) { send_known(wire_free + (many - 1) * symbol_ps, many); }
    // Whether a symbol that is sent at `time` is the next of those under way already.
    bool expects(std::int64_t time, std::uint16_t symbol) const {
        const std::uint32_t next = (peer->tail_ - ahead) & peer->mask_;
        return peer->symbols_[next] == symbol &&
               peer->arrivals_[next] == std::max(time, wire_free) + symbol_ps + delay_ps;
    }

    // Puts symbols under way that the board will send as fast as it can from its edge at `time` on. Returns when the
    // first of them arrives.
    std::int64_t send_ahead(std::int64_t time, std::int64_t period, const std::uint16_t* symbols, std::uint32_t many) {
        if (!ready) time += (last_start - time + period - 1) / period * period;
        const std::int64_t first_arrival = std::max(time, wire_free) + symbol_ps + delay_ps;
        peer->put(first_arrival, symbols, many);
        ahead = many;
        ahead_start = first_arrival + (many - 2) * symbol_ps - delay_ps;
        return first_arrival;
    }

    // Puts bytes under way that will leave behind all that are under way already, without a pause. Returns when the
    // first of them arrives.
    std::int64_t add_ahead(const std::uint16_t* symbols, std::uint32_t many) {
        const std::int64_t arrival = wire_free + (ahead + 1) * symbol_ps + delay_ps;
        peer->put(arrival, symbols, many);
        ahead += many;
        return arrival;
    }

    // Takes back what is under way and has not been sent.
    void recall() {
        if (ahead) peer->take_back(ahead);
        ahead = 0;
    }

    // When the first symbol arrives here that is no byte; with `bytes`, the first of all. NEVER if none is under way.
    std::int64_t first_control(bool bytes) const {
        if (bytes) return first;
        return controls_ ? arrivals_[(head_ + plain_) & mask_] : NEVER;
    }

    // Copies so many of the symbols under way, from the first on.
    void copy(std::uint32_t many, std::uint16_t* symbols) const {
        const std::uint32_t straight = std::min(many, mask_ + 1 - head_);
        std::copy_n(&symbols_[head_], straight, symbols);
        std::copy_n(&symbols_[0], many - straight, symbols + straight);
    }

    // How many of the symbols under way, from the first on, are bytes that arrive one behind the other, up to `until`.
    // Two are never nearer to each other than these, unless a fault doubles or delays one.
    std::uint32_t regular(std::int64_t until = NEVER) const {
        if (first > until) return 0;
        const auto most = std::min<std::int64_t>(std::min(level(), plain_), (until - first) / symbol_ps + 1);
        const auto is_regular = [&](std::uint32_t many) {
            return arrivals_[(head_ + many - 1) & mask_] == first + (many - 1) * symbol_ps;
        };
        auto many = static_cast<std::uint32_t>(most);
        std::uint32_t least = many != 0;
        if (peer->faults) {
            while (least < many && is_regular(least + 1)) ++least;
            return least;
        }
        if (!many || is_regular(many)) return many;
        while (many - least > 1) {
            const std::uint32_t half = (least + many) / 2;
            (is_regular(half) ? least : many) = half;
        }
        return least;
    }

    // Loses what is under way to the peer and arrives after `from`; returns how many symbols.
    std::uint64_t cut(std::int64_t from) { return peer->lose(from); }

    // Nothing changes at an edge at which nothing is sent or arrives.
    bool rests() const { return ready && first == NEVER && !*pins.rx_valid; }

  private:
    // A symbol on a direction that has faults.
    __attribute__((noinline)) std::int64_t struck(std::int64_t arrival, std::uint16_t symbol) {
        const Faults::Fate& fate = faults->last = faults->next(count++, last_start, arrival, symbol);
        for (int copy = 0; copy < fate.copies; ++copy) peer->put(fate.arrival, fate.symbol);
        for (int i = 0; i < fate.more; ++i) peer->put(fate.arrival, fate.again[i]);
        return fate.copies || fate.more ? fate.arrival : LOST;
    }

    std::uint64_t lose(std::int64_t from) {
        std::uint64_t lost = 0;
        while (head_ != tail_ && arrivals_[(tail_ - 1) & mask_] > from) {
            tail_ = (tail_ - 1) & mask_;
            controls_ -= symbols_[tail_] >= CONTROL_BIT;
            plain_ = std::min(plain_, level());
            ++lost;
        }
        if (head_ == tail_) first = NEVER;
        return lost;
    }

    void take_back(std::uint32_t many) {
        if (controls_) {
            for (std::uint32_t n = 1; n <= many; ++n) controls_ -= symbols_[(tail_ - n) & mask_] >= CONTROL_BIT;
        }
        tail_ = (tail_ - many) & mask_;
        plain_ = std::min(plain_, level());
        if (head_ == tail_) first = NEVER;
    }

    // The oldest so many go, which are bytes.
    void drop_bytes(std::uint32_t many) {
        head_ = (head_ + many) & mask_;
        plain_ -= many;
        first = head_ == tail_ ? NEVER : arrivals_[head_];
    }

    void put(std::int64_t arrival, std::uint16_t symbol) {
        const bool byte = symbol < CONTROL_BIT;
        plain_ += byte & !controls_;
        controls_ += !byte;
        symbols_[tail_] = symbol;
        arrivals_[tail_] = arrival;
        if (head_ == tail_) {
            first = arrival;
            if (live) add(*live, place);
        }
        tail_ = (tail_ + 1) & mask_;
        if (tail_ == head_) grow(mask_ + 1);
    }

    // put() for symbols that arrive one behind the other.
    void put(std::int64_t arrival, const std::uint16_t* symbols, std::uint32_t many) {
        if (!many) return;
        while (level() + many > mask_) grow(level());
        const std::uint32_t bytes = nectar::first_control(symbols, many);
        if (!controls_) plain_ += bytes;
        for (std::uint32_t n = bytes; n < many; n = nectar::first_control(symbols, many, n + 1)) ++controls_;
        if (head_ == tail_) {
            first = arrival;
            if (live) add(*live, place);
        }
        const std::uint32_t straight = std::min(many, mask_ + 1 - tail_);
        std::copy_n(symbols, straight, &symbols_[tail_]);
        std::copy_n(symbols + straight, many - straight, &symbols_[0]);
        const auto arrive = [&](std::int64_t* at, std::uint32_t count) {
            for (; count >= 4; count -= 4, at += 4, arrival += 4 * symbol_ps) {
                for (int n = 0; n < 4; ++n) at[n] = arrival + n * symbol_ps;
            }
            for (; count; --count, ++at, arrival += symbol_ps) *at = arrival;
        };
        arrive(&arrivals_[tail_], straight);
        arrive(&arrivals_[0], many - straight);
        tail_ = (tail_ + many) & mask_;
    }

    // Symbols under way.
    std::uint32_t level() const { return (tail_ - head_) & mask_; }

    // There is room for twice as many symbols; so many are under way.
    __attribute__((noinline)) void grow(std::uint32_t many) {
        std::vector<std::uint16_t> symbols(2 * symbols_.size());
        std::vector<std::int64_t> arrivals(symbols.size());
        for (std::uint32_t i = 0; i < many; ++i) {
            symbols[i] = symbols_[(head_ + i) & mask_];
            arrivals[i] = arrivals_[(head_ + i) & mask_];
        }
        head_ = 0;
        tail_ = many;
        mask_ = 2 * mask_ + 1;
        symbols_.swap(symbols);
        arrivals_.swap(arrivals);
    }

    // What is under way to here, and when it arrives: taken out at head, put in at tail.
    std::vector<std::uint16_t> symbols_;
    std::vector<std::int64_t> arrivals_;
    std::uint32_t head_ = 0;
    std::uint32_t tail_ = 0;
    std::uint32_t mask_ = 7;
    std::uint32_t controls_ = 0;  // control codes under way
    std::uint32_t plain_ = 0;     // bytes in front of the first of them, or all that are under way
};

// Joins two ports by a pair of fibers; `first_fiber` is the number of the direction from a to b.
inline void join(Port& a, Port& b, std::int64_t symbol_ps, std::int64_t delay_ps, int first_fiber) {
    a.peer = &b;
    b.peer = &a;
    a.symbol_ps = b.symbol_ps = symbol_ps;
    a.delay_ps = b.delay_ps = delay_ps;
    a.fiber = first_fiber;
    b.fiber = first_fiber + 1;
}

}  // namespace nectar
