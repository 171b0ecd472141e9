// The central controller of a fast HUB: decisions, answers, and what user commands do. docs/hub.md, "Controller and
// status table".
//
// A port gives a command in cycle t. It is checked in t + 1 and in each cycle from then on, and decided in t + 2 at the
// earliest. The answer is looked up in the cycle after the decision, the effect comes one cycle later, and the response
// three cycles later. An open or a lock lets the port go on two cycles after the decision.

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
    resumes_ = resume_later_;
    resume_later_ = resume_next_;
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
    if (stages_[2].valid) respond(stages_[2]);
    stages_[2] = stages_[1];
    stages_[1].valid = false;
    if (stages_[0].valid) act(stages_[0]);
    stages_[0].valid = false;
    if (decided_.valid) form_order();
    pending_ |= asked_;
    if (pending_ || decided_.valid || before_.valid || frozen_) decide();
}

// Picks one command that was checked in the cycle before, and checks all anew.
void Hub::decide() {
    const bool freeze = frozen_ || (decided_.valid && decided_.supervisor);
    const Mask wishes = can_ | at_once_;
    Order chosen;
    Mask turn;
    each(pending_ & expired_, [&](unsigned n) {
        if (requests_[n].first < now_) add(given_up_, n);
    });
    if (wishes) {
        const Mask later = wishes & from(last_ + 1);
        const unsigned n = lowest(later ? later : wishes);
        turn = one(n);
        const Request& request = requests_[n];
        const bool had = has(had_, n);
        const bool done = has(can_, n) && !takes(decided_, true, n, had);
        if (done || has(at_once_, n)) {
            last_ = n;
            chosen.valid = true;
            chosen.port = static_cast<std::uint8_t>(n);
            chosen.op = request.op;
            chosen.param = request.param;
            chosen.done = done;
            chosen.had = had;
            chosen.entered = done && opens(request.op) && !had;
            chosen.supervisor = request.op & hub::SUPERVISOR && has(allowed_, n);
        }
    }
    can_ = at_once_ = Mask();
    if (!freeze) check(turn);
    if (chosen.valid) {
        pending_ &= ~turn;
        if (opens(chosen.op) || locks(chosen.op)) resume_next_ = turn;
        if (chosen.entered) {
            pulses_.enter_input = chosen.port;
            pulses_.enter_output = chosen.param;
            count(chosen.port, hub::CounterId::OPENED);
        }
    }
    frozen_ = freeze && !(finishing_.valid && !work_.active);
    before_ = decided_;
    decided_ = chosen;
}

// Which commands can be done now. `but` is the one that has just had its turn.
void Hub::check(Mask but) {
    const Mask ready = ready_bit_ & (~starting_ | rising_);
    const Mask asking = pending_ & ~but;
    // If nothing has changed, nothing can be done still.
    const Grounds grounds{asking, connected_, connected_shown_, locked_shown_, enabled_, ready, giving_up_};
    if (vain_ && !decided_.valid && !before_.valid && grounds == grounds_) return;
    grounds_ = grounds;
    had_ = Mask();
    each(asking, [&](unsigned n) {
        const Request& request = requests_[n];
        const std::uint8_t op = request.op;
        const unsigned name = request.param & (names_ - 1);
        const bool bad = request.param >= ports_ || ((opens(op) || locks(op)) && request.param == n);
        const bool mine = has(port_[n].targets, name);
        const bool is_free = !has(locked_shown_, name) || lockers_[name] == n;
        const bool usable = has(enabled_, name);
        const bool may_start = has(ready, name);
        const bool waiting = waits(op);
        bool can = false;
        if (opens(op)) {
            can = usable && (mine || (is_free && !has(connected_shown_, name))) && (may_start || !(op & hub::TEST));
        } else if (locks(op)) {
            can = usable && is_free;
        } else {
            can = op == hub::AWAIT_READY_REPLY && may_start;
        }
        const bool hopeless = (opens(op) || locks(op)) && !usable;
        if (bad || hopeless || !waiting || has(giving_up_, n)) add(at_once_, n);
        if (can && !bad && !takes(decided_, true, n, mine) && !takes(before_, false, n, mine)) add(can_, n);
        if (mine) add(had_, n);
    });
    vain_ = !(can_ | at_once_);
}

// Whether `decision`, the one of the cycle before or of that before it, took what the command of port `n` wants.
bool Hub::takes(const Order& decision, bool is_last, unsigned n, bool had) const {
    if (!decision.valid || !decision.done) return false;
    const Request& request = requests_[n];
    if ((decision.param - request.param) & (names_ - 1)) return false;
    const bool lasts = takes_lock(decision.op);
    const bool open = opens(request.op);
    if (had && open) return false;
    if (!is_last) return (open || locks(request.op)) && lasts;
    return (open && (opens(decision.op) || lasts)) || (locks(request.op) && lasts);
}

// -- answers ----------------------------------------------------------------------------------------

// Input that holds the lock on an output, as an order finds it that may stand right behind another one; or NOBODY.
std::uint8_t Hub::lock_holder(unsigned output) const {
    if (pulses_.lock.valid && pulses_.lock.output == output) return pulses_.lock.holder;
    return has(locked_shown_, output) ? lockers_[output] : NOBODY;
}

// What the decision of the cycle before is answered.
void Hub::form_order() {
    Order order = decided_;
    const unsigned name = order.param & (names_ - 1);
    order.expired = has(given_up_, order.port);
    drop(given_up_, order.port);
    const bool holds = has(locked_shown_ & all_, name);
    order.had = order.done && ((opens(order.op) && !order.entered) || (takes_lock(order.op) && holds));
    order.free = name >= ports_ || !has(connected_shown_, name) || owners_[name] == order.port;
    order.error = refusal(order);
    order.value = order.param;
    if (!order.error) answer(order);
    stages_[0] = order;
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
    const std::uint8_t op = order.op;
    const unsigned o = order.param;
    hub::Event event = hub::Event::NOTHING;
    if (order.supervisor) {
        waiting_ = order;
    } else if (opens(op)) {
        if (!order.had) event = order.done ? hub::Event::OPENED : hub::Event::REFUSED;
    } else if (is_lock(op)) {
        if (order.done && takes_lock(op)) {
            pulses_.lock = {true, order.param, order.port};
            if (!order.had) event = hub::Event::LOCKED;
        }
        if (!order.done) event = hub::Event::REFUSED;
    } else if (!order.error) {
        switch (op) {
            case hub::UNLOCK:
            case hub::UNLOCK_REPLY:
                pulses_.lock = {true, order.param, NOBODY};
                event = hub::Event::UNLOCKED;
                break;
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
    if (event != hub::Event::NOTHING) record_.decision(event, order.port, o);
    if (!order.supervisor) stages_[1] = order;
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
