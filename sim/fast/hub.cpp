// A clock cycle of a fast HUB; reply bus, tables and watchdog. docs/hub.md.

#include "hub.h"

#include <cstring>

#include "kinds.h"

namespace nectar::fast {

namespace {

bool is_hello(std::uint8_t op) { return op == hub::HELLO || op == hub::HELLO_ASK; }

}  // namespace

int Hub::counted(std::uint8_t error) {
    switch (error) {
        case hub::UNKNOWN: return static_cast<int>(hub::CounterId::UNKNOWN);
        case hub::BAD_PORT: return static_cast<int>(hub::CounterId::BAD_PORT);
        case hub::NOT_MINE: return static_cast<int>(hub::CounterId::NOT_MINE);
        case hub::NOT_ALLOWED: return static_cast<int>(hub::CounterId::NOT_ALLOWED);
        case hub::DISABLED: return static_cast<int>(hub::CounterId::DISABLED);
        default: return NOT_COUNTED;
    }
}

Hub::Hub(unsigned ports, Pins& pins)
    : ports_(ports), names_(2), all_(~from(ports)), port_(new HubPort[ports]) {
    while (names_ < ports) names_ *= 2;
    std::memset(tx_ready_, 1, sizeof tx_ready_);
    may_send_ = all_;
    reset();
    pins.clk = &clk_;
    pins.clk_before = &clk_before_;
    pins.rst = &rst_;
    pins.idle = &idle_;
    pins.hub_id = &hub_id_;
    pins.sending = &showing_;
    pins.arriving = &came_;
    pins.ready = &may_send_;
    pins.relay = this;
    for (unsigned n = 0; n < ports; ++n) {
        pins.ports.push_back({&rx_payload_[n], &rx_valid_[n], &tx_payload_[n], &tx_valid_[n], &tx_ready_[n]});
        const auto* connected = reinterpret_cast<const std::uint8_t*>(&connected_shown_) + n / 8;
        const auto* ready = reinterpret_cast<const std::uint8_t*>(&ready_bit_) + n / 8;
        pins.probes.outputs.push_back({connected, ready, static_cast<std::uint8_t>(1 << n % 8), &owners_[n]});
        pins.probes.levels.push_back(&levels_[n]);
    }
}

// As a reset leaves it.
void Hub::reset() {
    static_cast<HubState&>(*this) = HubState();
    for (unsigned n = 0; n < ports_; ++n) port_[n] = HubPort();
    bus_last_ = last_ = ports_ - 1;
    ready_bit_ = enabled_ = enabled_here_ = allowed_ = all_;
    log_ = hub::WATCHDOG_DEFAULT;
    std::memset(tx_valid_, 0, sizeof tx_valid_);
    std::memset(levels_, 0, sizeof levels_);
}

void Hub::edge() {
    ++now_;
    if (calm_) {
        move_bytes();
    } else {
        const bool resets = resetting_ || reset_next_;
        reset_next_ = false;
        step();
        if (resets) reset();
        load_inputs();
    }
    resetting_ = held_rst_;
    held_rst_ = rst_;
    if (calm_) {
        take_bytes();
        idle_ = !is_moving() && !held_rst_;
    } else {
        held_valid_ = came_;
        held_ready_ = may_send_;
        each(held_valid_, [&](unsigned n) { held_payload_[n] = rx_payload_[n]; });
        idle_ = !is_busy() && !resetting_ && !held_rst_;
        flow_.edge = Flow::NEVER;
        if (is_calm()) calm_down();
    }
}

// Whether anything may happen without a symbol.
bool Hub::is_busy() const {
    const Mask ports = arriving_ | queued_ | sending_ | closing_ | recovered_ | expired_ | pending_ | resume_next_ |
                       picked_ | picked_before_ | asking_ | taken_down_ | sources_ | halting_ | told_.any();
    const Mask held = connecting_ | locking_ | partial_;
    bool orders = chosen_.valid || decided_.valid || before_[0].valid || before_[1].valid;
    for (const Order& order : stages_) orders |= order.valid;
    const bool watched = log_ && (held || held_);
    const bool supervised = work_.active || waiting_.valid || finishing_.valid || finished_.valid || frozen_ || thaws_;
    return ports || watched || connected_ != connected_shown_ || locked_ != locked_shown_ || orders ||
           supervised || flights_[0].valid || flights_[1].valid || !counted_.empty() || record_.running() ||
           moved_;
}

void Hub::step() {
    pulses_ = Pulses();
    enabled_here_ = enabled_;
    looped_here_ = looped_;
    reaches_ = told_;
    told_ = Told();
    const Mask closed_before = ended_;
    ended_ = connected_shown_ & ~connected_;
    unlocked_ = locked_shown_ & ~locked_;
    const Mask held = connecting_ | locking_ | partial_ | queued_;
    record_.tick(now_);
    pulses_.passed = closing_;
    pulses_.closed = closing_ | taken_down_;
    closing_ = taken_down_ = Mask();
    pulses_.close_mine = expired_ | reaches_.close_mine;
    pulses_.release = expired_;
    told_.ready_set = recovered_;
    control();
    supervise();
    cleared_ = reaches_.reset_queue;
    each(cleared_ | expired_, [&](unsigned n) { empty(n); });
    heard_ = starts_ = Mask();
    const Mask sources = sources_;
    decode(arriving_);
    pulses_.send_ready = halting_;
    looping_ = Mask();
    each(looped_here_ & sending_, [&](unsigned n) {
        port_[n].looped = port_[n].out;
        if (port_[n].valid) add(looping_, n);
    });
    bus(sources);
    const Mask outputs = sending_;
    output(outputs);
    const Mask answering = response_port_ == NOBODY ? Mask() : one(response_port_);
    asked_ = Mask();
    const Mask told = resumes_ | answering | halting_ | expired_;
    take((queued_ & ~awaiting_) | (told & (queued_ | resumes_ | answering)), told);
    each(turning_ | (cleared_ & queued_), [&](unsigned n) { settle_queue(n); });
    finish(outputs, held, closed_before);
}

// The end of a cycle, behind the heads.
void Hub::finish(Mask outputs, Mask held, Mask closed_before) {
    halting_ = cleared_;
    append_replies();
    const Mask readies = pulses_.send_ready | reaches_.send_ready;
    each(readies, [&](unsigned n) {
        const unsigned count = port_[n].readies + has(pulses_.send_ready, n) + has(reaches_.send_ready, n);
        port_[n].readies = static_cast<std::uint8_t>(count < READY_LIMIT ? count : READY_LIMIT);
    });
    each(outputs | sending_ | pulses_.pushed | readies, [&](unsigned n) { settle_output(n); });
    const Mask lowered = starts_ | reaches_.ready_clear;
    rising_ = (reaches_.ready_set | heard_) & ~ready_bit_ & ~lowered;
    ready_bit_ = (ready_bit_ | reaches_.ready_set | heard_) & ~lowered;
    record_.ends(expired_, closed_before, unlocked_);
    look_up();
    commit_tables();
    commit_locks();
    watch(held);
}

// A queue is emptied, or the watchdog takes back what has arrived in part.
void Hub::empty(unsigned n) {
    HubPort& p = port_[n];
    if (p.arrived) p.fate = p.fate == Fate::SPOILED || p.fate == Fate::SPOILED_VOID ? Fate::SPOILED_VOID : Fate::VOID;
    drop(partial_, n);
    if (has(expired_, n)) count(n, hub::CounterId::TIMED_OUT);
    if (!has(cleared_, n)) return;
    count(n, hub::CounterId::FLUSHED);
}

inline void Hub::settle_queue(unsigned n) {
    HubPort& p = port_[n];
    if (has(cleared_, n)) {
        p.queue.clear();
        p.closing = 0;
    }
    if (p.queue.rests()) drop(turning_, n);
    p.queue.tick();
    levels_[n] = static_cast<std::uint16_t>(p.queue.level());
    if (p.queue.empty() && p.state == Head::PASS) drop(queued_, n);
}

inline void Hub::settle_output(unsigned n) {
    HubPort& p = port_[n];
    constexpr auto START = static_cast<std::uint16_t>(Control::START);
    set(full_, n, p.behind == 2);
    if (has(starting_, n)) {
        bool starts = p.fresh && p.valid && p.out == START;
        starts |= p.has_beside && p.beside.symbol == START;
        for (unsigned i = 0; i < p.behind; ++i) starts |= p.waiting[i].symbol == START;
        set(starting_, n, starts);
    }
    const bool own = (p.readies | p.sending) || p.answers || !p.replies.empty();
    set(sending_, n, own || p.valid || p.has_beside || p.behind);
    const bool shows = p.valid && !has(looped_, n);
    tx_valid_[n] = shows;
    set(showing_, n, shows);
    tx_payload_[n] = p.out;
}

// An event; an error is shown in the port's sum two cycles later.
void Hub::count(unsigned n, hub::CounterId counter, std::int64_t late) {
    std::uint16_t& value = port_[n].counters[static_cast<unsigned>(counter)];
    if (value != 0xFFFF) ++value;
    const bool harmless = counter == hub::CounterId::OPENED || counter == hub::CounterId::PACKETS ||
                          counter == hub::CounterId::FLUSHED;
    if (!harmless) counted_.push_back({now_ + ERROR_SHOWN + late, static_cast<std::uint8_t>(n)});
}

// -- reply bus --------------------------------------------------------------------------------------

// `sources`: ports at which a reply waits when the cycle begins.
void Hub::bus(Mask sources) {
    for (Flight& flight : flights_) {
        if (!flight.valid) continue;
        const std::int64_t place = now_ - flight.picked;
        if (place == 2) route(flight);
        if (place == 3) deliver(flight);
        if (place == 4 && is_hello(flight.content.bytes[0]) && !flight.asks) {
            port_[flight.origin].neighbour_kind = flight.content.bytes[2];
        }
    }
    const Mask wishes = sources | asking_;
    if (wishes && now_ >= bus_free_) {
        const Mask later = wishes & from(bus_last_ + 1);
        const unsigned n = lowest(later ? later : wishes);
        bus_last_ = n;
        bus_free_ = now_ + COMMAND_LENGTH;
        flight_ ^= 1;
        Flight& flight = flights_[flight_] = Flight();
        flight.valid = true;
        flight.picked = now_;
        flight.origin = static_cast<std::uint8_t>(n);
        flight.asks = has(asking_, n);
        if (!flight.asks) flight.content = flight.sent = port_[n].replies_arrived.front();
        drop(asking_, n);
    }
    asking_ |= pulses_.hello_ask;
}

void Hub::route(Flight& flight) {
    const unsigned n = flight.origin;
    const std::uint8_t op = flight.content.bytes[0];
    if (flight.asks || op == hub::HELLO_ASK) {
        flight.target = flight.origin;
        const auto answer = static_cast<std::uint8_t>(flight.asks ? hub::HELLO_ASK : hub::HELLO);
        flight.sent = {{answer, hub_id_, static_cast<std::uint8_t>(hub::HELLO_HUB | n)}};
    } else if (op != hub::HELLO && has(connected_shown_, n)) {
        flight.target = owners_[n];
        if (op == hub::CLOSE_ALL_REPLY) add(taken_down_, n);
    }
}

void Hub::deliver(Flight& flight) {
    const unsigned n = flight.origin;
    const bool hello = !flight.asks && is_hello(flight.content.bytes[0]);
    if (hello) port_[n].neighbour_id = flight.content.bytes[1];
    if (!flight.asks) {
        port_[n].replies_arrived.pop();
        if (port_[n].replies_arrived.empty()) drop(sources_, n);
    }
    if (flight.target != NOBODY) {
        flight.fits = !port_[flight.target].replies.full();
        if (!flight.fits) count(n, hub::CounterId::REPLY_LOST, 1);
    } else if (!hello) {
        count(n, hub::CounterId::NO_ROUTE, 1);
    }
}

// Replies whose last byte the bus has carried.
void Hub::append_replies() {
    for (Flight& flight : flights_) {
        if (!flight.valid || now_ - flight.picked != 5) continue;
        flight.valid = false;
        if (!flight.fits) continue;
        port_[flight.target].replies.push(flight.sent);
        add(sending_, flight.target);
    }
}

// -- tables -----------------------------------------------------------------------------------------

void Hub::commit_tables() {
    connected_shown_ = connected_;
    recovered_ = Mask();
    if (pulses_.enter_input != NOBODY) {
        const unsigned o = pulses_.enter_output;
        add(connected_, o);
        add(connected_shown_, o);
        owners_[o] = pulses_.enter_input;
        add(port_[pulses_.enter_input].targets, o);
        add(connecting_, pulses_.enter_input);
    }
    Mask gone = (pulses_.closed | pulses_.closed_here) & connected_;
    each(pulses_.close_mine & connecting_, [&](unsigned n) { gone |= port_[n].targets; });
    if (!gone) return;
    connected_ &= ~gone;
    each(gone, [&](unsigned o) {
        Mask& targets = port_[owners_[o]].targets;
        drop(targets, o);
        if (!targets) connecting_ &= ~one(owners_[o]);
    });
    if (expired_) recovered_ = gone & ~pulses_.closed;
}

void Hub::commit_locks() {
    locked_shown_ = locked_;
    const LockChange& change = pulses_.lock;
    const auto set_lock = [&](unsigned output, bool locks) {
        locks_changed_ = true;  // a lock may go from holder to holder
        set(locked_, output, locks);
        set(locked_shown_, output, locks);
    };
    const bool gives_back = pulses_.given_back != NOBODY;
    if (gives_back) set_lock(pulses_.given_back, false);
    if (change.valid) {
        set_lock(change.output, change.holder != NOBODY);
        if (change.holder != NOBODY) lockers_[change.output] = change.holder;
    }
    if (!change.valid && !gives_back && !(pulses_.release & locking_)) return;
    locking_ = Mask();
    each(locked_, [&](unsigned o) {
        if (has(pulses_.release, lockers_[o])) {
            drop(locked_, o);
        } else {
            locking_ |= one(lockers_[o]);
        }
    });
}

// `held`: ports that the watchdog watches in this cycle.
void Hub::watch(Mask held) {
    const bool active = held_ && log_;
    const bool tick = active && !restart_ && running_ > 0 && !(running_ & ((std::int64_t{1} << log_) - 1));
    const Mask standing = held_ & ~moved_;
    expired_ = tick ? standing & still_ : Mask();
    still_ = restart_ || !log_ ? Mask() : standing & (still_ | (tick ? held_ : Mask()));
    running_ = active && !restart_ ? running_ + 1 : 0;
    restart_ = false;
    held_ = held;
    moved_ = pulses_.moved;
}

void* make_hub(unsigned ports, Pins& pins) { return new Hub(ports, pins); }
void edge_of_hub(void* hub) { static_cast<Hub*>(hub)->edge(); }
void* state_of_hub(void* hub) { return hub; }
void destroy_hub(void* hub) { delete static_cast<Hub*>(hub); }

}  // namespace nectar::fast
