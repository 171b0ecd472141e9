// Bytes that flow through a fast CAB at many edges: from the fiber to the words of an area, and from the words of an
// area to the fiber. They give the edges at which memory is wanted, and do what depends on bytes alone at once.
// docs/naps.md.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

#include "cab_in.h"
#include "cab_out.h"
#include "port.h"

namespace nectar::fast {

constexpr std::int32_t NO_EDGE = std::numeric_limits<std::int32_t>::max();

// Edges of a flow; they count from 0, which is at `time`.
struct Edges {
    std::int64_t time;
    std::int64_t period;
    std::int32_t count;

    // How many of them come before the one at which a symbol arrives.
    std::int32_t before(std::int64_t arrival) const {
        const std::int64_t edge = arrival <= time + period ? 0 : (arrival - time - 1) / period;
        return static_cast<std::int32_t>(std::min<std::int64_t>(edge, count));
    }
};

class FiberIn::Flow {
  public:
    // At most so many edges are taken at once.
    static constexpr std::int32_t MOST = 1536;

    // For how many of these edges fiber in does what a Flow does; `symbol`: as for FiberIn::edge().
    static std::int32_t most(const FiberIn& in, const Port& port, int symbol, const Edges& edges);

    // Takes out of the port what arrives at these edges. Unless `awake`, they become fewer if the board would sleep at
    // one of them.
    Flow(FiberIn& in, Port& port, int symbol, Edges& edges, bool awake);

    // The edge from which on memory is wanted for the next word; NO_EDGE: at none of these. Call it when the word
    // before has been stored.
    std::int32_t next_word();
    // Stores words for which memory is wanted before this edge, if they are whole and follow each other, when the word
    // before has been stored. Returns how many.
    std::int32_t store_until(std::uint32_t* memory, std::int32_t until);
    // In the end. Returns the symbol that arrives at the last edge; -1: none does.
    int leave();

  private:
    // Edges between the one at which a symbol arrives and the one at which it leaves the queue.
    static constexpr std::int32_t DELAY = 5;
    // Between two symbols are no more edges if the board does not sleep.
    static constexpr std::int32_t GAP = 2;

    // The edge at which the symbol at this place of the queue arrived, or an earlier one if it shows at the head.
    std::int32_t arrival(std::uint32_t place) const {
        if (static_cast<std::int32_t>(place - seen_) < 0) return -DELAY;
        if (place - run_ < run_length_) return run_edge(place - run_);
        return arrivals_[place - seen_];
    }
    std::int32_t run_edge(std::uint32_t number) const {
        const std::int64_t late = run_late_ + number * symbol_ps_;
        return late <= 0 ? 0 : static_cast<std::int32_t>((late + period_ - 1) / period_);
    }
    void put(int symbol, std::int32_t edge) {
        arrivals_[end_ - seen_] = static_cast<std::int16_t>(edge);
        in_.ring_[end_++ % RING] = static_cast<std::uint16_t>(symbol);
    }
    std::int32_t take_run(Port& port, const Edges& edges, std::int32_t newest, std::int32_t gap);
    bool emerge();
    bool store_word();
    std::uint32_t take_word();

    FiberIn& in_;
    const bool flows_, stores_;  // bytes arrive; they are stored
    const std::uint32_t seen_;   // the first place that does not show at the head at the begin
    std::uint32_t end_;          // behind all symbols, those that have not reached the queue among them
    std::int32_t emerged_;       // the edge at which the last byte left the queue
    std::int32_t last_ = 0;      // of the edges
    // Symbols that arrive one behind the other: the place of the first, how many, how long behind edge 0 the first one
    // arrives.
    std::uint32_t run_ = 0, run_length_ = 0;
    std::int64_t run_late_ = 0;
    const std::int64_t symbol_ps_, period_;
    std::array<std::int16_t, MOST + 8> arrivals_;  // of the others: edges, by the places from seen_ on
};

class FiberOut::Flow {
  public:
    // For how many of these edges fiber out does what a Flow does. `lists`: entries may be
    // added to its list.
    static std::int32_t most(const FiberOut& out, const Port& port, const Edges& edges, bool lists);

    Flow(FiberOut& out, Port& port, const Edges& edges);

    // The edge from which on memory is wanted for the next word; NO_EDGE: at none of these. Call it when the word
    // before has been fetched.
    std::int32_t next_fetch();
    // Memory is given at this edge.
    void fetch(const std::uint32_t* memory, std::int32_t edge) {
        out_.word_ = memory[out_.address_ / 4];
        out_.state_ = State::PASS_ON;
        passes_ = edge + 1;
    }
    // When the next word is fetched depends on the fiber alone: there is no room for it before one leaves, and each is
    // in its place before the next one leaves.
    bool is_steady() const {
        return out_.state_ == State::NEXT ? !out_.entries_.level() : is_full() && spaced_;
    }
    // Fetches words for which memory is wanted before this edge, while is_steady(). Returns how many.
    std::int32_t fetch_until(const std::uint32_t* memory, std::int32_t until);
    // In the end. Returns whether the fiber takes a symbol at the edge behind the last one.
    bool leave();

  private:
    // What the fiber takes: the edge at which it takes the next symbol, and its time; as the port's last_start and
    // wire_free; symbols so far.
    struct Fiber {
        std::int32_t next_edge;
        std::int64_t next_time;
        std::int64_t last_start, free;
        std::uint32_t count;

        void take(unsigned symbols, std::int64_t symbol_ps, std::int64_t period);
    };

    bool is_full() const { return out_.state_ == State::READ && out_.items_.level() == AHEAD; }
    void find_last();
    void push(unsigned bytes);
    void push_word(std::uint32_t word) {
        out_.crc_.add_word(word);
        out_.sum_.add_word(word);
        older_ = {static_cast<std::uint16_t>(word >> 8 & 0xFF), false, false};
        newest_ = {static_cast<std::uint16_t>(word & 0xFF), false, false};
    }
    void push_to(std::int32_t edge);

    FiberOut& out_;
    Port& port_;
    const Edges edges_;
    const bool spaced_;        // words leave at every fifth edge, or later
    std::int32_t passes_;      // the edge at which the word that was fetched joins the items
    std::int32_t free_ = 0;    // the first one at which the next may be fetched
    Fiber fiber_;
    // The item at work.
    bool has_room_;            // a byte leaves it without a symbol being taken before
    std::int32_t empty_ = NO_EDGE;  // the edge at which its last byte leaves; NO_EDGE: at none of these; then
    unsigned part_ = 0;        // so many of its symbols leave
    Outgoing newest_, older_;  // the last symbols that left an item
    bool starts_ = false;      // a start of packet has
};

}  // namespace nectar::fast
