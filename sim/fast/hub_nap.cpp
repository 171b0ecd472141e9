// A calm HUB through which bytes flow in a pattern that repeats. docs/engine.md, "Naps".
#include <algorithm>

#include "hub.h"
#include "port.h"

namespace nectar::fast {

namespace {

// A nap has so many patterns at most.
constexpr std::uint32_t MOST_PATTERNS = 64;
// Entries that a queue must have, or have room for, beside those that pass.
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

std::uint32_t Hub::repeats(Port* ports, std::size_t wired, std::int64_t edge, std::int64_t time, std::int64_t period) {
    const bool follows = flow_.edge + PERIOD == edge;
    flow_.edge = Flow::NEVER;
    if (!calm_ || odd_outputs_ || restart_ || !wired) return 0;
    if (flow_.ports.size() != wired) {
        flow_.ports.resize(wired);
        flow_.symbols = symbols_of_pattern(ports, wired, period);
    }
    if (!flow_.symbols) return 0;
    flow_.edge = edge;
    const FlowState state = flow_state();
    bool same = follows && state == flow_.state;
    flow_.state = state;
    const std::uint32_t symbols = flow_.symbols;
    std::int64_t most = MOST_PATTERNS;
    Mask rest = queued_ | sending_ | arriving_ | held_valid_, feeds, leave;
    for (std::size_t place = 0; place < wired; ++place) {
        const Port& port = ports[place];
        const unsigned n = port.number;
        const HubPort& p = port_[n];
        const Queue& queue = p.queue;
        drop(rest, n);
        PortFlow now;
        now.first = port.first == NEVER ? NEVER : port.first - time;
        now.wire_free = port.wire_free - time;
        now.to_read = queue.tail() - queue.visible();
        now.to_settle = queue.tail() - queue.settled();
        now.ready = port.ready;
        now.valid = p.valid;
        now.fresh = p.fresh;
        now.has_beside = p.has_beside;
        now.behind = p.behind;
        now.sent = port.count;
        now.head = queue.head();
        now.tail = queue.tail();
        same = same && fast::repeats(now, flow_.ports[place], symbols) && has(sending_, n) == (now.leaves != 0) &&
               !(now.leaves && port.faults);
        flow_.ports[place] = now;
        if (!same) continue;
        // How long it goes on like that.
        if (now.in) {
            most = std::min<std::int64_t>(most, port.regular(static_cast<std::uint32_t>(most) * symbols) / symbols);
        } else if (port.first != NEVER) {
            most = std::min(most, ((now.first + period - 1) / period - 1) / PERIOD);
        }
        const std::int64_t level = queue.tail() - queue.head();
        if (now.out) {
            feeds |= p.targets;
            const std::uint32_t end = queue.tail() + has(arriving_, n) + has(held_valid_, n);
            const std::int64_t entries = std::min<std::int64_t>(end - queue.head(), most * symbols + MARGIN);
            std::int64_t bytes = 0;
            while (bytes < entries && queue.entry(queue.head() + static_cast<std::uint32_t>(bytes)) < CONTROL_BIT) {
                ++bytes;
            }
            if (bytes < end - queue.head() || !now.in) {
                most = std::min(most, std::max<std::int64_t>(0, bytes - MARGIN) / symbols);
            }
        } else if (now.in) {
            if (!has(awaiting_, n)) most = 0;
            most = std::min(most, std::max<std::int64_t>(0, std::int64_t{QUEUE_DEPTH} - level - MARGIN) / symbols);
        }
        set(leave, n, now.leaves);
    }
    if (held_ && log_) {
        const std::int64_t tick = std::int64_t{1} << log_;
        most = std::min(most, (tick - (running_ & (tick - 1)) - 1) / PERIOD);
    }
    return same && !rest && !(feeds != leave) && most > 0 ? static_cast<std::uint32_t>(most) : 0;
}

// The symbol that leaves an output as number `number` from now on; `input`: who feeds it.
std::uint16_t Hub::flowing(unsigned output, std::uint32_t number, const Port& input) const {
    const HubPort& p = port_[output];
    if (p.valid && !number--) return p.out;
    if (p.has_beside && !number--) return p.beside.symbol;
    if (number < p.behind) return p.waiting[number].symbol;
    const unsigned n = input.number;
    const Queue& queue = port_[n].queue;
    number -= p.behind;
    const std::uint32_t here = queue.tail() - queue.head() + has(arriving_, n) + has(held_valid_, n);
    return number < here ? queue.entry(queue.head() + number) : input.symbol(number - here);
}

void Hub::send_ahead(Port* ports, std::uint32_t patterns, Notice told, void* whom) {
    const std::uint32_t many = patterns * flow_.symbols;
    const auto place_of = [&](unsigned number) {
        std::size_t place = 0;
        while (ports[place].number != number) ++place;
        return place;
    };
    for (std::size_t place = 0; place < flow_.ports.size(); ++place) {
        if (!flow_.ports[place].leaves) continue;
        Port& port = ports[place];
        const Port& input = ports[place_of(owners_[port.number])];
        bool first = true;
        while (port.ahead < many) {
            const std::int64_t arrival = port.add_ahead(flowing(port.number, port.ahead, input));
            if (first) told(whom, port, arrival);
            first = false;
        }
    }
}

void Hub::repeat(Port* ports, std::uint32_t patterns) {
    if (!patterns) return;
    const std::uint32_t many = patterns * flow_.symbols;
    const std::size_t wired = flow_.ports.size();
    for (std::size_t place = 0; place < wired; ++place) {
        if (!flow_.ports[place].in) continue;
        const unsigned n = ports[place].number;
        const unsigned coming = has(arriving_, n) + has(held_valid_, n);
        for (std::uint32_t i = 0; i < many; ++i) port_[n].queue.preset(coming + i, ports[place].receive());
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
