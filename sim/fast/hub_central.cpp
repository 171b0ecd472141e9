// The central controller of a fast HUB: decisions, answers, and what user commands do. docs/hub.md, "Controller and
// status table".
//
// A port gives a command in cycle t. It is looked up in the tables in t and checked in t + 1, and so on in each cycle,
// picked in t + 2 at the earliest and decided in the cycle after that. An open or a lock lets the port go on in the
// cycle after the decision; in this cycle the answer is looked up, and a lock is taken. Other effects come one cycle
// later, and the response four cycles later.

#include "hub.h"

namespace nectar::fast {

namespace {

bool opens(std::uint8_t op) { return op <= hub::TEST_OPEN_RETRY_REPLY; }
// Whether an opcode is of the kind that the controller decides as a lock; some of them are unknown.
bool locks(std::uint8_t op) { return op >= hub::LOCK && op <= 0x27; }
bool is_lock(std::uint8_t op) {
    return (op >= hub::LOCK && op <= hub::LOCK_RETRY_REPLY) || op == hub::TEST_LOCK_REPLY;
}
// Whether it takes the lock.
bool takes_lock(std::uint8_t op) { return locks(op) && !(op & hub::TEST); }
bool waits(std::uint8_t op) {
    return ((opens(op) || is_lock(op)) && op & hub::RETRY) || op == hub::AWAIT_READY_REPLY;
}
bool unlocks(std::uint8_t op) { return op == hub::UNLOCK || op == hub::UNLOCK_REPLY; }

bool is_user_command(std::uint8_t op) {
    switch (op) {
        case hub::UNLOCK:
        case hub::UNLOCK_REPLY:
        case hub::UNLOCK_MINE:
        case hub::STATUS_OUTPUT:
        case hub::STATUS_ERRORS:
        case hub::STATUS_INPUT:
        case hub::STATUS_QUEUE:
        case hub::STATUS_LOCK:
        case hub::STATUS_READY:
        case hub::STATUS_NEIGHBOUR:
        case hub::STATUS_KIND:
        case hub::RAISE_READY:
        case hub::LOWER_READY:
        case hub::REPAIR_READY:
        case hub::AWAIT_READY_REPLY:
        case hub::FLUSH_REPLY:
        case hub::ECHO_REPLY:
        case hub::IDENTITY_REPLY:
        case hub::SIZE_REPLY: return true;
        default: return opens(op) || is_lock(op);
    }
}

bool is_supervisor_command(std::uint8_t op) {
    switch (op) {
        case hub::DISABLE_REPLY:
        case hub::ENABLE_REPLY:
        case hub::LOOP_BACK_REPLY:
        case hub::RESET_QUEUE_REPLY:
        case hub::RESET_PORT_REPLY:
        case hub::RESET_HUB:
        case hub::FORCE_CONNECTION_REPLY:
        case hub::FORCE_LOCK_REPLY:
        case hub::FORCE_READY_REPLY:
        case hub::WATCHDOG_TIME_REPLY:
        case hub::MONITOR_SELECT_REPLY:
        case hub::MONITOR_READ_REPLY:
        case hub::MONITOR_CLEAR_REPLY:
        case hub::ALLOW_SUPERVISOR_REPLY: return true;
        default: return false;
    }
}

}  // namespace

// A cycle of the controller.
void Hub::control() {
    resumes_ = resume_next_;
    resume_next_ = Mask();
    std::size_t kept = 0;
    for (const Counted& error : counted_) {
        if (error.shown <= now_) {
            ++port_[error.port].errors;
        } else {
            counted_[kept++] = error;
        }
    }
    counted_.resize(kept);
    response_port_ = NOBODY;
    if (finished_.valid) respond(finished_);
    finished_.valid = false;
    if (stages_[3].valid) respond(stages_[3]);
    stages_[3] = stages_[2];
    stages_[2] = stages_[1];
    if (stages_[2].valid && unlocks(stages_[2].op) && !stages_[2].error) pulses_.given_back = stages_[2].param;
    unlocked_by_order_ = NOBODY;
    stages_[1].valid = false;
    if (stages_[0].valid) act(stages_[0]);
    stages_[0].valid = false;
    if (decided_.valid) form_order();
    pending_ |= asked_;
    before_[1] = before_[0];
    before_[0] = decided_;
    decided_ = chosen_;
    chosen_.valid = false;
    if (decided_.valid) enter();
    given_up_ |= pending_ & expired_;
    if (pending_ || decided_.valid || before_[0].valid || before_[1].valid || picked_ || frozen_) decide();
    if (decided_.valid) {
        pending_ &= ~one(decided_.port);
        given_up_ &= ~one(decided_.port);
    }
    ready_seen_ = ready_bit_ & (~starting_ | rising_);
}

// What the decision of this cycle does at once.
void Hub::enter() {
    decided_.expired = has(given_up_, decided_.port);
    if (opens(decided_.op) || locks(decided_.op)) resume_next_ = one(decided_.port);
    if (!decided_.entered) return;
    pulses_.enter_input = decided_.port;
    pulses_.enter_output = decided_.param;
    count(decided_.port, hub::CounterId::OPENED);
}

// Picks one command that was checked in the cycle before, and checks all anew.
void Hub::decide() {
    const bool freeze = frozen_ || (decided_.valid && decided_.supervisor);
    // The pick is known too late in its cycle to keep a command from being checked twice more.
    const Mask wishes = frozen_ ? Mask() : (can_ | at_once_) & ~picked_ & ~picked_before_;
    // A pick in vain is no turn, unless another follows it in the next cycle.
    const bool in_vain = picked_ && !decided_.valid;
    const unsigned last_before = last_before_;
    last_before_ = last_;
    picked_before_ = picked_;
    picked_ = Mask();
    if (!wishes && in_vain) last_ = last_before;
    if (wishes) {
        const Mask later = wishes & from(last_ + 1);
        const unsigned n = lowest(later ? later : wishes);
        picked_ = one(n);
        last_ = n;
        const Request& request = requests_[n];
        const bool had = has(had_, n);
        const bool done = has(can_, n) && !takes(decided_, true, n, had);
        chosen_ = Order();
        chosen_.valid = done || has(at_once_, n);
        chosen_.port = static_cast<std::uint8_t>(n);
        chosen_.op = request.op;
        chosen_.param = request.param;
        chosen_.done = done;
        chosen_.had = had;
        chosen_.entered = done && opens(request.op) && !had;
        chosen_.supervisor = request.op & hub::SUPERVISOR && has(allowed_, n);
    }
    check();
    frozen_ = freeze && !thaws_;
    thaws_ = finishing_.valid && !work_.active;
}

// What the tables say of each command that asks; a check looks at it in the next cycle.
void Hub::look_up() {
    const Mask asking = pending_ | asked_;
    const Grounds grounds{asking, connected_, connected_shown_ & ~pulses_.passed, locked_shown_, enabled_};
    if (!asking || (!asked_ && !locks_changed_ && grounds == grounds_)) return;
    grounds_ = grounds;
    locks_changed_ = false;
    looked_up_ = true;
    seen_ = Seen();
    each(asking, [&](unsigned n) {
        const unsigned name = requests_[n].param & (names_ - 1);
        if (has(port_[n].targets, name)) add(seen_.mine, n);
        if (!has(grounds.connected_shown, name)) add(seen_.idle, n);
        if (!has(locked_shown_, name) || lockers_[name] == n) add(seen_.free, n);
        if (has(enabled_, name)) add(seen_.usable, n);
    });
}

// Which commands can be done now.
void Hub::check() {
    const bool quiet = !decided_.valid && !before_[0].valid && !before_[1].valid;
    const bool changed = ready_checked_ != ready_seen_ || given_checked_ != giving_up_ || looked_up_;
    // If nothing has changed, nothing can be done still.
    if (vain_ && quiet && !changed) return;
    ready_checked_ = ready_seen_;
    given_checked_ = giving_up_;
    looked_up_ = false;
    can_ = at_once_ = had_ = Mask();
    each(pending_, [&](unsigned n) {
        const Request& request = requests_[n];
        const std::uint8_t op = request.op;
        const unsigned name = request.param & (names_ - 1);
        const bool bad = request.param >= ports_ || ((opens(op) || locks(op)) && request.param == n);
        const bool mine = has(seen_.mine, n);
        const bool is_free = has(seen_.free, n);
        const bool usable = has(seen_.usable, n);
        const bool may_start = has(ready_seen_, name);
        const bool waiting = waits(op);
        bool can = false;
        if (opens(op)) {
            can = usable && (mine || (is_free && has(seen_.idle, n))) && (may_start || !(op & hub::TEST));
        } else if (locks(op)) {
            can = usable && is_free;
        } else {
            can = op == hub::AWAIT_READY_REPLY && may_start;
        }
        const bool hopeless = (opens(op) || locks(op)) && !usable;
        if (bad || hopeless || !waiting || has(giving_up_, n)) add(at_once_, n);
        const bool taken = takes(decided_, true, n, mine) || takes(before_[0], true, n, mine) ||
                           takes(before_[1], false, n, mine);
        if (can && !bad && !taken) add(can_, n);
        if (mine) add(had_, n);
    });
    vain_ = !(can_ | at_once_);
}

// Whether `decision` took what the command of port `n` wants. It is one of the last two, or only its lock counts.
bool Hub::takes(const Order& decision, bool is_recent, unsigned n, bool had) const {
    if (!decision.valid || !decision.done) return false;
    const Request& request = requests_[n];
    if ((decision.param - request.param) & (names_ - 1)) return false;
    const bool lasts = takes_lock(decision.op);
    const bool open = opens(request.op);
    if (had && open) return false;
    if (!is_recent) return (open || locks(request.op)) && lasts;
    return (open && (opens(decision.op) || lasts)) || (locks(request.op) && lasts);
}

// -- answers ----------------------------------------------------------------------------------------

// Input that holds the lock on an output, as an order finds it behind the two before, which may end it; or NOBODY.
std::uint8_t Hub::lock_holder(unsigned output) const {
    if (output == unlocked_by_order_ || output == pulses_.given_back) return NOBODY;
    return has(locked_shown_, output) ? lockers_[output] : NOBODY;
}

// What the decision of the cycle before is answered. A lock is taken, and the event is recorded.
void Hub::form_order() {
    Order order = decided_;
    const unsigned name = order.param & (names_ - 1);
    const bool holds = has(locked_shown_ & all_, name);
    order.had = order.done && ((opens(order.op) && !order.entered) || (takes_lock(order.op) && holds));
    order.free = name >= ports_ || !has(connected_shown_, name) || owners_[name] == order.port;
    order.error = refusal(order);
    order.value = order.param;
    if (!order.error) answer(order);
    if (order.done && takes_lock(order.op)) pulses_.lock = {true, order.param, order.port};
    record(order);
    stages_[0] = order;
}

void Hub::record(const Order& order) {
    const std::uint8_t op = order.op;
    if (order.supervisor) return;
    hub::Event event = hub::Event::NOTHING;
    if (opens(op)) {
        if (!order.had) event = order.done ? hub::Event::OPENED : hub::Event::REFUSED;
    } else if (is_lock(op)) {
        if (!order.done) event = hub::Event::REFUSED;
        if (order.done && takes_lock(op) && !order.had) event = hub::Event::LOCKED;
    } else if (unlocks(op) && !order.error) {
        event = hub::Event::UNLOCKED;
    }
    if (event != hub::Event::NOTHING) record_.decision(event, order.port, order.param);
}

std::uint8_t Hub::refusal(const Order& order) const {
    const std::uint8_t op = order.op;
    const unsigned o = order.param;
    if (op & hub::SUPERVISOR) {
        if (order.supervisor) return 0;
        return is_supervisor_command(op) ? hub::NOT_ALLOWED : hub::UNKNOWN;
    }
    if (!is_user_command(op)) return hub::UNKNOWN;
    const bool bad = o >= ports_;
    if (opens(op) || is_lock(op)) {
        if (order.done) return 0;
        if (bad || o == order.port) return hub::BAD_PORT;
        if (!has(enabled_, o)) return hub::DISABLED;
        if (op & hub::RETRY) return hub::GIVEN_UP;
        if (is_lock(op)) return hub::LOCKED;
        const bool connected = has(connected_shown_, o);
        if (connected && owners_[o] != order.port) return hub::BUSY;
        const std::uint8_t holder = lock_holder(o);
        if (!connected && holder != NOBODY && holder != order.port) return hub::LOCKED;
        return op & hub::TEST ? hub::NOT_READY : hub::BUSY;
    }
    switch (op) {
        case hub::UNLOCK_MINE:
        case hub::FLUSH_REPLY:
        case hub::ECHO_REPLY:
        case hub::IDENTITY_REPLY:
        case hub::SIZE_REPLY: return 0;
        default: break;
    }
    if (bad) return hub::BAD_PORT;
    if (unlocks(op)) return lock_holder(o) == order.port ? 0 : hub::NOT_MINE;
    if (op == hub::AWAIT_READY_REPLY) return order.done ? 0 : hub::GIVEN_UP;
    const bool mine = has(connected_shown_, o) && owners_[o] == order.port;
    if (op == hub::RAISE_READY || op == hub::LOWER_READY) return mine ? 0 : hub::NOT_MINE;
    if (op == hub::REPAIR_READY) return mine || o == order.port ? 0 : hub::NOT_MINE;
    return 0;
}

void Hub::answer(Order& order) {
    const unsigned o = order.param;
    const auto held = [](bool holds, std::uint8_t by) { return holds ? hub::STATUS_IN_USE | by : 0; };
    unsigned value = order.param;
    switch (order.op) {
        case hub::IDENTITY_REPLY: value = order.port; break;
        case hub::SIZE_REPLY: value = ports_; break;
        case hub::STATUS_OUTPUT: value = held(has(connected_shown_, o), owners_[o]); break;
        case hub::STATUS_LOCK: value = held(lock_holder(o) != NOBODY, lock_holder(o)); break;
        case hub::STATUS_ERRORS: value = port_[o].errors < 0xFF ? port_[o].errors : 0xFF; break;
        case hub::STATUS_QUEUE: value = levels_[o] < 0xFF ? levels_[o] : 0xFF; break;
        case hub::STATUS_READY: value = has(ready_bit_, o); break;
        case hub::STATUS_INPUT:
            value = 0;
            each(connected_shown_, [&](unsigned output) { value += owners_[output] == o; });
            break;
        default: break;
    }
    order.value = static_cast<std::uint8_t>(value);
}

// What an order does in the cycle behind its answer.
void Hub::act(Order& order) {
    const unsigned o = order.param;
    if (order.supervisor) {
        waiting_ = order;
        return;
    }
    if (!order.error) {
        switch (order.op) {
            case hub::UNLOCK:
            case hub::UNLOCK_REPLY: unlocked_by_order_ = order.param; break;
            case hub::UNLOCK_MINE: add(pulses_.release, order.port); break;
            case hub::STATUS_KIND: order.value = port_[o].neighbour_kind; break;
            case hub::STATUS_NEIGHBOUR:
                order.value = port_[o].neighbour_id;
                port_[o].neighbour_id = 0;
                port_[o].neighbour_kind = hub::KIND_UNKNOWN;
                add(pulses_.hello_ask, o);
                break;
            default: break;
        }
    }
    stages_[1] = order;
}

// The response reaches the port, and what acts on ready bits happens.
void Hub::respond(const Order& order) {
    response_port_ = order.port;
    response_ = order;
    if (order.op & hub::SUPERVISOR) return;
    const Mask place = one(order.param & (names_ - 1)) & all_;
    const bool tests = order.op == hub::AWAIT_READY_REPLY || (opens(order.op) && order.op & hub::TEST);
    if (!order.error) {
        if (order.op == hub::RAISE_READY) told_.ready_set |= place;
        if (order.op == hub::LOWER_READY) told_.ready_clear |= place;
        if (order.op == hub::REPAIR_READY) told_.send_ready |= place;
    } else if (order.error == hub::GIVEN_UP && order.expired && tests && order.free) {
        told_.ready_set |= place;
    }
}

}  // namespace nectar::fast
