#include "cab_flow.h"

#include <algorithm>

namespace nectar::fast {

namespace {

// One edge for each.
std::int32_t as_edges(std::uint32_t count) { return static_cast<std::int32_t>(count); }

}  // namespace

// -- in ---------------------------------------------------------------------------------------------

std::int32_t FiberIn::Flow::most(const FiberIn& in, const Port& port, int symbol, const Edges& edges) {
    if (!in.can_flow()) return in.rests_ && symbol < 0 ? edges.before(port.first) : 0;
    const std::int32_t count = std::min(edges.count, MOST);
    return in.state_ == State::BODY ? std::min(count, as_edges(in.writer.room()) - 1) : count;
}

// Whether bytes that arrive only queue up, or are stored, each as soon as it may.
bool FiberIn::can_flow() const {
    if (symbol_ >= CONTROL_BIT || (reply_left_ | command_left_) || lost_ || scatter.moves()) return false;
    if (state_ == State::WAIT) return !scatter.running;
    if (state_ == State::CLOSED) return next_waits();
    return state_ == State::BODY && is_stream() && !spare_valid_ && held_count_ == CHECK_BYTES[check_];
}

FiberIn::Flow::Flow(FiberIn& in, Port& port, int symbol, Edges& edges, bool awake)
    : in_(in), flows_(in.can_flow()), stores_(flows_ && in.state_ == State::BODY), seen_(in.visible_),
      end_(in.tail_), emerged_(in.front_valid_ ? -1 : -2), symbol_ps_(port.symbol_ps), period_(edges.period) {
    std::int32_t newest = -2;
    if (flows_) {
        for (std::uint32_t place = in.visible_; place != in.almost_; ++place) arrivals_[place - seen_] = -4;
        for (std::uint32_t place = in.almost_; place != in.tail_; ++place) arrivals_[place - seen_] = -3;
        if (in.symbol_ >= 0) put(in.symbol_, -2);
        if (symbol >= 0) put(symbol, newest = -1);
        const std::int32_t gap = awake ? NO_EDGE : GAP;
        newest = take_run(port, edges, newest, gap);
        const std::int32_t begin = std::max(newest + 1, 0);
        const std::int64_t time = edges.time + (begin + 1) * edges.period;
        port.receive(time, edges.period, edges.count - begin, [&](std::uint16_t byte, std::int32_t edge) {
            edge += begin;
            if (edge - newest > gap) return false;
            put(byte, edge);
            newest = edge;
            return true;
        });
    }
    if (!awake) edges.count = std::min(edges.count, newest + GAP);
    last_ = edges.count - 1;
}

// Takes bytes out of the port that arrive one behind the other. Returns the edge at which the newest symbol arrives.
std::int32_t FiberIn::Flow::take_run(Port& port, const Edges& edges, std::int32_t newest, std::int32_t gap) {
    const std::int64_t begin = edges.time + period_;
    const std::uint32_t many = port.regular(begin + (edges.count - 1) * period_);
    if (!many) return newest;
    run_ = end_;
    run_late_ = port.first - begin;
    // Behind one that came late others may wait, of which one comes at an edge.
    if (run_late_ <= -period_ || run_edge(0) - newest > gap || symbol_ps_ > gap * period_) return newest;
    run_length_ = many;
    const std::uint32_t straight = std::min(many, RING - end_ % RING);
    port.receive(straight, &in_.ring_[end_ % RING]);
    port.receive(many - straight, &in_.ring_[0]);
    end_ += many;
    return run_edge(many - 1);
}

// A byte comes out of the queue.
bool FiberIn::Flow::emerge() {
    if (in_.head_ == end_) return false;
    const std::int32_t edge = std::max(arrival(in_.head_) + DELAY, emerged_ + 1);
    if (edge > last_) return false;
    emerged_ = edge;
    in_.front_ = static_cast<std::uint8_t>(in_.emerge(in_.ring_[in_.head_++ % RING]));
    in_.front_valid_ = true;
    return true;
}

std::int32_t FiberIn::Flow::next_word() {
    if (!stores_) return NO_EDGE;
    for (;;) {
        if (!in_.front_valid_) {
            if (in_.writer.at_word() && store_word()) return emerged_ + 2;
            if (!emerge()) return NO_EDGE;
        }
        if (emerged_ == last_) return NO_EDGE;
        in_.front_valid_ = false;
        ++in_.stored_;
        if (in_.writer.put(in_.front_)) return emerged_ + 2;
    }
}

// Takes four bytes out of the queue.
std::uint32_t FiberIn::Flow::take_word() {
    std::uint32_t word = 0;
    for (std::uint32_t n = 0; n < 4; ++n) word = word << 8 | in_.ring_[(in_.head_ + n) % RING];
    in_.head_ += 4;
    return word;
}

// next_word() for four bytes that come out of the queue and are a whole word. Returns whether there are so many.
bool FiberIn::Flow::store_word() {
    if (end_ - in_.head_ < 4) return false;
    const std::int32_t edge = std::max(arrival(in_.head_ + 3) + DELAY, emerged_ + 4);
    if (edge >= last_) return false;
    emerged_ = edge;
    in_.stored_ += 4;
    in_.writer.put_word(in_.emerge_word(take_word()));
    return true;
}

std::int32_t FiberIn::Flow::store_until(std::uint32_t* memory, std::int32_t until) {
    if (!stores_ || in_.front_valid_ || !in_.writer.at_word() || emerged_ + 7 > until) return 0;
    // As many as leave the queue in time: a byte does at an edge, each DELAY behind its arrival.
    const auto in_time = [&](std::int32_t words) { return arrival(in_.head_ + 4 * words - 1) + DELAY + 2 < until; };
    std::int32_t words = 0, most = std::min(as_edges(end_ - in_.head_), until - 3 - emerged_) / 4;
    if (most <= 0 || !in_time(1)) return 0;
    for (words = in_time(most) ? most : 1; words < most - 1;) {
        const std::int32_t half = (words + most) / 2;
        (in_time(half) ? words : most) = half;
    }
    memory += in_.writer.next_word();
    for (std::int32_t n = 0; n < words; ++n) memory[n] = in_.emerge_word(take_word());
    in_.stored_ += 4 * static_cast<std::uint32_t>(words);
    emerged_ = std::max(arrival(in_.head_ - 1) + DELAY, emerged_ + 4 * words);
    in_.writer.pass(static_cast<std::uint32_t>(words));
    return words;
}

int FiberIn::Flow::leave() {
    if (!flows_) return -1;
    // Bytes that have come out of the queue while the last word waits; they are no word.
    if (in_.writer.waits) next_word();
    // What has arrived at the last edges is on its way to the queue's head.
    const auto arrived = [&](std::int32_t edge) { return end_ != in_.head_ && arrival(end_ - 1) == edge; };
    const auto take = [&](std::int32_t edge) { return arrived(edge) ? in_.ring_[--end_ % RING] : -1; };
    const int symbol = take(last_), before = take(last_ - 1);
    in_.count_ += end_ - in_.tail_;
    in_.tail_ = end_;
    in_.almost_ = in_.tail_ - arrived(last_ - 2);
    end_ = in_.almost_;
    in_.visible_ = in_.almost_ - arrived(last_ - 3);
    in_.look_ahead(before);
    return symbol;
}

// As emerge() for four bytes, which follow enough others. They are behind those that RX_MODE.skip leaves out, which are
// in the header.
std::uint32_t FiberIn::emerge_word(std::uint32_t word) {
    const int bytes = CHECK_BYTES[check_];
    std::uint32_t out = word;
    if (bytes) {
        out = static_cast<std::uint32_t>((std::uint64_t{held_} << 32 | word) >> 8 * bytes);
        held_ = word;
    }
    crc_.add_word(out);
    sum_.add_word(out);
    return out;
}

// -- out --------------------------------------------------------------------------------------------

FiberOut::Flow::Flow(FiberOut& out, Port& port, const Edges& edges)
    : out_(out), port_(port), edges_(edges), spaced_(4 * port.symbol_ps >= 5 * edges.period),
      passes_(out.state_ == State::PASS_ON ? 0 : NO_EDGE),
      fiber_{0, edges.time, port.last_start, port.wire_free, 0}, has_room_(!out.spare_valid_),
      newest_(out.spare_valid_ ? out.spare_ : out.front_), older_(out.front_) {
    for (; fiber_.next_time < fiber_.last_start; ++fiber_.next_edge) fiber_.next_time += edges_.period;
    out_.taken_count_ += out_.taken_;
    find_last();
}

// It takes so many symbols more, the first of them at next_edge.
void FiberOut::Flow::Fiber::take(unsigned symbols, std::int64_t symbol_ps, std::int64_t period) {
    if (!symbols) return;
    last_start = std::max(next_time, free) + (symbols - 1) * symbol_ps;
    free = last_start + symbol_ps;
    count += symbols;
    next_edge += static_cast<std::int32_t>(symbols);
    next_time += symbols * period;
    // A word's bytes take an edge or two more than one each.
    for (int n = 0; n < 2 && next_time < last_start; ++n, ++next_edge) next_time += period;
    if (next_time >= last_start) return;
    const std::int64_t edges = (last_start - next_time + period - 1) / period;
    next_edge += static_cast<std::int32_t>(edges);
    next_time += edges * period;
}

// When the last symbol of the item at work leaves it: one does at the edge behind that at which a symbol is taken.
void FiberOut::Flow::find_last() {
    const unsigned symbols = out_.symbols_left();
    part_ = has_room_;
    has_room_ = false;
    empty_ = 0;
    if (part_ == symbols) return;
    Fiber all = fiber_;
    all.take(symbols - part_ - 1, port_.symbol_ps, edges_.period);
    empty_ = all.next_edge + 1;
    if (empty_ < edges_.count) {
        all.take(1, port_.symbol_ps, edges_.period);
        fiber_ = all;
        part_ = symbols;
        return;
    }
    for (; fiber_.next_edge + 1 < edges_.count; ++part_) fiber_.take(1, port_.symbol_ps, edges_.period);
    empty_ = NO_EDGE;
}

// So many symbols leave the item at work.
void FiberOut::Flow::push(unsigned symbols) {
    Item& item = out_.item_;
    if (symbols == 4 && item.is_plain()) {
        out_.progress_ = (out_.progress_ + 4) & LENGTH_MASK;
        push_word(item.word);
        item.first += 4;
        return;
    }
    std::uint32_t raised = 0;
    for (; symbols; --symbols) {
        older_ = newest_;
        out_.send(newest_, raised);
        starts_ |= newest_.start;
    }
}

// What leaves the items up to this edge.
void FiberOut::Flow::push_to(std::int32_t edge) {
    while (empty_ <= edge) {
        push(part_);
        out_.next_item();
        find_last();
    }
}

std::int32_t FiberOut::Flow::next_fetch() {
    if (out_.state_ == State::PASS_ON) {
        if (passes_ >= edges_.count) return NO_EDGE;
        push_to(passes_);
        out_.gather(nullptr, false, false);
        free_ = passes_ + 1;
    }
    while (out_.state_ == State::NEXT && out_.entries_.level()) {
        if (out_.items_.level() == AHEAD && !has_bytes(out_.entries_.front())) {
            if (empty_ >= edges_.count - 1) return NO_EDGE;
            free_ = empty_ + 1;
        }
        if (free_ >= edges_.count) return NO_EDGE;
        push_to(free_);
        out_.gather(nullptr, false, true);
        ++free_;
    }
    if (out_.state_ != State::READ) return NO_EDGE;
    if (out_.items_.level() < AHEAD) return free_ < edges_.count ? free_ : NO_EDGE;
    return empty_ < edges_.count - 1 ? empty_ + 1 : NO_EDGE;
}

std::int32_t FiberOut::Flow::fetch_until(const std::uint32_t* memory, std::int32_t until) {
    if (empty_ >= until || !is_full() || out_.special_ || out_.address_ & 3) return 0;
    // One when the item at work leaves, others as the fiber takes what follows it.
    const std::int64_t left = (until - 3 - fiber_.next_edge) * edges_.period - port_.symbol_ps;
    if (left < 0) return 0;
    if (out_.lined_up_ != 4 * AHEAD) return 0;
    const std::uint32_t words =
        std::min(1 + static_cast<std::uint32_t>(left / (4 * port_.symbol_ps)), (out_.remaining_ - 1) / 4);
    if (!words) return 0;
    fiber_.take(4 * (words - 1), port_.symbol_ps, edges_.period);
    push(part_);
    // What follows the item at work: the words of the items, then those of the area.
    auto& items = out_.items_;
    const std::uint32_t* const area = memory + out_.address_ / 4;
    const auto word = [&](std::uint32_t n) { return n < AHEAD ? items.at(n).word : area[n - AHEAD]; };
    for (std::uint32_t n = 0; n + 1 < words; ++n) push_word(word(n));
    out_.item_ = items.front();
    out_.item_.word = word(words - 1);
    for (unsigned n = 0; n < AHEAD; ++n) items.at(n).word = word(words + n);
    out_.progress_ = (out_.progress_ + 4 * (words - 1)) & LENGTH_MASK;
    out_.address_ += 4 * words;
    out_.remaining_ -= 4 * words;
    find_last();
    return as_edges(words);
}

bool FiberOut::Flow::leave() {
    push_to(edges_.count - 1);
    push(part_);
    const bool takes = fiber_.next_edge == edges_.count - 1;
    out_.taken_count_ += fiber_.count;
    if (takes) fiber_.take(1, port_.symbol_ps, edges_.period);
    out_.taken_ = takes;
    out_.spare_valid_ = !takes;
    out_.front_ = takes ? newest_ : older_;
    out_.spare_ = newest_;
    out_.payload = out_.front_.symbol;
    out_.start_left_ = takes && older_.start;
    if (starts_ && !(older_.start || newest_.start)) out_.ready_ = false;
    out_.streams_ = out_.is_stream();
    out_.working = out_.state_ != State::NEXT;
    if (fiber_.count) port_.send_known(fiber_.last_start, fiber_.count);
    return port_.ready = fiber_.last_start <= edges_.time + edges_.count * edges_.period;
}

}  // namespace nectar::fast
