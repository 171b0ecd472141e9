// A calm HUB through which bytes flow in a pattern that repeats. docs/naps.md.
#include <algorithm>

#include "hub.h"
#include "port.h"

namespace nectar::fast {

namespace {

// A nap has so many patterns at most; so many symbols are put on a fiber ahead, again when there are fewer.
constexpr std::uint32_t MOST_PATTERNS = 64;
constexpr std::uint32_t MOST_AHEAD = 448, FEW_AHEAD = 64;
// Symbols that are known, entries that a queue keeps, or has room for, beside those that pass.
constexpr std::uint32_t MARGIN = 8;

// Symbols of a pattern, if all fibers carry the same whole number of them; else 0.
std::uint32_t symbols_of_pattern(const Port* ports, std::size_t wired, std::int64_t period) {
    const std::int64_t symbol_ps = ports[0].symbol_ps, pattern_ps = Relay::PERIOD * period;
    const bool alike = std::all_of(ports, ports + wired, [&](const Port& port) { return port.symbol_ps == symbol_ps; });
    return alike && pattern_ps % symbol_ps == 0 ? static_cast<std::uint32_t>(pattern_ps / symbol_ps) : 0;
}

// Whether a port is in `now` as it was in `then`, but for so many symbols that have passed or none; tells which.
bool repeats(PortFlow& now, const PortFlow& then, std::uint32_t symbols) {
    now.leaves = static_cast<std::uint32_t>(now.sent - then.sent);
    now.out = now.head - then.head;
    now.in = now.tail - then.tail;
    const auto whole = [&](std::uint32_t passed) { return !passed || passed == symbols; };
    const bool same = now.to_read == then.to_read && now.to_settle == then.to_settle && now.ready == then.ready &&
                      now.valid == then.valid && now.fresh == then.fresh && now.has_beside == then.has_beside &&
                      now.behind == then.behind;
    return same && whole(now.leaves) && whole(now.out) && whole(now.in) && (!now.in || now.first == then.first) &&
           (now.leaves ? now.wire_free == then.wire_free : now.ready);
}

}  // namespace

FlowState Hub::flow_state() const {
    return {arriving_, held_valid_, held_ready_, queued_, sending_, showing_, turning_, full_,
            awaiting_, moved_, held_, still_, pending_, connected_, odd_inputs_};
}

PortFlow Hub::port_flow(const Port& port, std::int64_t time) const {
    const HubPort& p = port_[port.number];
    PortFlow flow;
    flow.first = port.first - time;
    flow.wire_free = port.wire_free - time;
    flow.to_read = p.queue.tail() - p.queue.visible();
    flow.to_settle = p.queue.tail() - p.queue.settled();
    flow.ready = port.ready;
    flow.valid = p.valid;
    flow.fresh = p.fresh;
    flow.has_beside = p.has_beside;
    flow.behind = p.behind;
    flow.sent = port.count;
    flow.head = p.queue.head();
    flow.tail = p.queue.tail();
    return flow;
}

std::uint32_t Hub::repeats(Port* ports, std::size_t wired, std::int64_t edge, std::int64_t time, std::int64_t period,
                           Notice told, void* whom) {
    const bool follows = flow_.edge + PERIOD == edge;
    flow_.edge = Flow::NEVER;
    if (!calm_ || restart_ || !wired) return 0;
    if (flow_.ports.size() != wired) {
        flow_.ports.resize(wired);
        flow_.symbols = symbols_of_pattern(ports, wired, period);
        for (std::size_t place = 0; place < wired; ++place) flow_.place[ports[place].number] = place;
    }
    if (!flow_.symbols) return 0;
    flow_.edge = edge;
    const FlowState state = flow_state();
    bool same = follows && state == flow_.state && !odd_outputs_;
    flow_.state = state;
    const auto symbols = static_cast<std::int64_t>(flow_.symbols);
    Mask rest = queued_ | sending_ | arriving_ | held_valid_, feeds, leave;
    for (std::size_t place = 0; place < wired; ++place) {
        const unsigned n = ports[place].number;
        PortFlow now = port_flow(ports[place], time);
        PortFlow& then = flow_.ports[place];
        now.steady = follows && fast::repeats(now, then, flow_.symbols) && has(sending_, n) == (now.leaves != 0);
        then = now;
        same = same && now.steady;
        drop(rest, n);
        if (now.out) feeds |= port_[n].targets;
        if (now.steady && now.leaves && !has(odd_outputs_, n)) add(leave, n);
    }
    if (!follows) return 0;
    each(leave, [&](unsigned o) {
        Port& port = ports[flow_.place[o]];
        const std::size_t from = flow_.place[owners_[o]];
        const PortFlow& input = flow_.ports[from];
        if (port.ahead >= FEW_AHEAD || port.faults || !input.steady || !input.out) return;
        send_ahead(port, ports[from], input.in, told, whom);
    });
    if (!same || rest || feeds != leave) return 0;
    // How long it goes on like that.
    std::int64_t most = MOST_PATTERNS;
    for (std::size_t place = 0; place < wired && most > 0; ++place) {
        const Port& port = ports[place];
        const PortFlow& flow = flow_.ports[place];
        const Queue& queue = port_[port.number].queue;
        const std::int64_t level = queue.tail() - queue.head();
        if (flow.in) {
            most = std::min(most, port.regular() / symbols);
        } else if (port.first != NEVER) {
            most = std::min(most, ((flow.first + period - 1) / period - 1) / PERIOD);
        }
        // The head is in front of what leaves, and looks at one symbol more.
        if (flow.leaves) most = std::min(most, (std::int64_t{port.ahead} - MARGIN) / symbols);
        if (flow.out && !flow.in) most = std::min(most, (level - MARGIN) / symbols);
        if (flow.in && !flow.out) {
            const std::int64_t room = std::int64_t{QUEUE_DEPTH} - level - MARGIN;
            most = has(awaiting_, port.number) ? std::min(most, room / symbols) : 0;
        }
    }
    if (held_ && log_) {
        const std::int64_t tick = std::int64_t{1} << log_;
        most = std::min(most, (running_ ? -running_ & (tick - 1) : tick) / PERIOD);
    }
    return static_cast<std::uint32_t>(std::max<std::int64_t>(most, 0));
}

// Puts on the fiber what will leave an output, as far as that is known: bytes in front of a control code; what has
// arrived, and with `arrives` what is under way.
void Hub::send_ahead(Port& output, const Port& input, bool arrives, Notice told, void* whom) const {
    const HubPort& p = port_[output.number];
    const Queue& queue = port_[input.number].queue;
    std::uint16_t symbols[MOST_AHEAD];
    std::uint32_t known = 0;
    if (p.valid) symbols[known++] = p.out;
    if (p.has_beside) symbols[known++] = p.beside.symbol;
    for (unsigned n = 0; n < p.behind; ++n) symbols[known++] = p.waiting[n].symbol;
    if (std::any_of(symbols, symbols + known, [](std::uint16_t symbol) { return symbol >= CONTROL_BIT; })) return;
    const std::uint32_t coming = has(arriving_, input.number) + has(held_valid_, input.number);
    const std::uint32_t end = queue.tail() + coming;
    const std::uint32_t here = queue.copy_bytes(queue.head(), end, MOST_AHEAD - known, symbols + known);
    known += here;
    if (queue.head() + here == end && arrives) {
        const std::uint32_t under_way = std::min(MOST_AHEAD - known, input.regular());
        input.copy(under_way, symbols + known);
        known += under_way;
    }
    if (known > output.ahead) {
        add(*output.live, output.place);
        told(whom, output, output.add_ahead(symbols + output.ahead, known - output.ahead));
    }
}

void Hub::repeat(Port* ports, std::uint32_t patterns) {
    if (!patterns) return;
    const std::uint32_t many = patterns * flow_.symbols;
    const std::size_t wired = flow_.ports.size();
    for (std::size_t place = 0; place < wired; ++place) {
        if (!flow_.ports[place].in) continue;
        const unsigned n = ports[place].number;
        const unsigned ahead = has(arriving_, n) + has(held_valid_, n);
        const auto give = [&](std::uint32_t count, std::uint16_t* to) { ports[place].receive(count, to); };
        port_[n].queue.preset(ahead, many, give);
    }
    for (std::size_t place = 0; place < wired; ++place) {
        if (!flow_.ports[place].leaves) continue;
        Port& port = ports[place];
        HubPort& p = port_[port.number];
        const Queue& queue = port_[owners_[port.number]].queue;
        const std::uint32_t before = p.valid + p.has_beside + p.behind;
        // What is not in the queue any more leaves before.
        std::uint32_t next = queue.head() + many - before;
        if (p.valid) p.out = queue.entry(next++);
        if (p.has_beside) p.beside.symbol = queue.entry(next++);
        for (unsigned i = 0; i < p.behind; ++i) p.waiting[i].symbol = queue.entry(next++);
        tx_payload_[port.number] = p.out;
        port.send_known(many);
    }
    for (std::size_t place = 0; place < wired; ++place) {
        const PortFlow& flow = flow_.ports[place];
        if (!(flow.in | flow.out)) continue;
        const unsigned n = ports[place].number;
        port_[n].queue.pass(patterns * flow.in, patterns * flow.out);
        levels_[n] = static_cast<std::uint16_t>(port_[n].queue.level());
    }
    now_ += patterns * PERIOD;
    if (held_ && log_) running_ += patterns * PERIOD;
}

}  // namespace nectar::fast
