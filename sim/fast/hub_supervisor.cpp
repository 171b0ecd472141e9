// Supervisor commands of a fast HUB, and what its monitor shows. docs/hub.md, "Supervisor commands"; docs/monitor.md.
//
// A command that is handed over in cycle t takes effect in t + 4 and is finished in t + 10. Another one that comes
// meanwhile begins in t + 9.

#include "hub.h"

namespace nectar::fast {

namespace {

constexpr std::int64_t LOOK = 2, ACT = 4, RECORD = 8, NEXT = 9;

bool is_forced(std::uint8_t op) {
    switch (op) {
        case hub::LOOP_BACK_REPLY:
        case hub::FORCE_CONNECTION_REPLY:
        case hub::FORCE_LOCK_REPLY:
        case hub::FORCE_READY_REPLY:
        case hub::ALLOW_SUPERVISOR_REPLY: return true;
        default: return false;
    }
}

}  // namespace

void Hub::supervise() {
    if (finishing_.valid) finished_ = finishing_;
    finishing_.valid = false;
    if (work_.active) {
        switch (now_ - work_.begin) {
            case LOOK: look(work_); break;
            case ACT: carry_out(work_); break;
            case RECORD:
                if (work_.enters) {
                    record_.decision(hub::Event::OPENED, work_.order.port, work_.order.param & 0x7Fu);
                }
                break;
            case NEXT:
                if (work_.enters) {
                    pulses_.enter_input = work_.order.port;
                    pulses_.enter_output = work_.order.param & ~hub::FORCE;
                    count(work_.order.port, hub::CounterId::OPENED);
                }
                finishing_ = work_.order;
                work_.active = false;
                break;
            default: break;
        }
    }
    if (!work_.active && waiting_.valid) {
        work_ = {true, now_, waiting_, false};
        waiting_.valid = false;
    }
}

std::uint8_t Hub::supervisor_error(const Order& order) const {
    const std::uint8_t op = order.op, param = order.param;
    const unsigned port = is_forced(op) ? param & 0x7F : param;
    const auto is = [&](auto select) { return param == static_cast<std::uint8_t>(select); };
    switch (op) {
        case hub::RESET_HUB:
        case hub::MONITOR_READ_REPLY: return 0;
        case hub::WATCHDOG_TIME_REPLY:
            return param == 0 || (param >= 4 && param <= hub::WATCHDOG_MAX) ? 0 : hub::BAD_PORT;
        case hub::MONITOR_SELECT_REPLY: {
            using hub::Select;
            const bool known = is(Select::EVENTS) || is(Select::FLAGS) || is(Select::IDENTITY);
            return param < ports_ || known ? 0 : hub::BAD_PORT;
        }
        case hub::MONITOR_CLEAR_REPLY:
            return param < ports_ || is(hub::Clear::RECORD) || is(hub::Clear::STOP) ? 0 : hub::BAD_PORT;
        case hub::FORCE_CONNECTION_REPLY:
            if (port >= ports_) return hub::BAD_PORT;
            if (!(param & hub::FORCE)) return 0;
            if (port == order.port) return hub::BAD_PORT;
            return has(enabled_, port) ? 0 : hub::DISABLED;
        case hub::DISABLE_REPLY:
        case hub::ENABLE_REPLY:
        case hub::RESET_QUEUE_REPLY:
        case hub::RESET_PORT_REPLY: return port < ports_ ? 0 : hub::BAD_PORT;
        default: return is_forced(op) ? (port < ports_ ? 0 : hub::BAD_PORT) : hub::UNKNOWN;
    }
}

// Errors, and what is recorded.
void Hub::look(Supervision& work) {
    Order& order = work.order;
    const std::uint8_t op = order.op;
    const bool force = order.param & hub::FORCE;
    const unsigned port = order.param & 0x7F;
    order.error = supervisor_error(order);
    order.value = static_cast<std::uint8_t>(is_forced(op) ? port : order.param);
    if (order.error) return;
    hub::Event event = hub::Event::SUPERVISOR;
    if (op == hub::FORCE_CONNECTION_REPLY && force) event = hub::Event::NOTHING;
    if (op == hub::FORCE_LOCK_REPLY) {
        event = force ? hub::Event::LOCKED : has(locked_shown_, port) ? hub::Event::UNLOCKED : event;
    }
    if (event != hub::Event::NOTHING) record_.decision(event, order.port, port);
}

void Hub::carry_out(Supervision& work) {
    Order& order = work.order;
    if (order.error) return;
    const bool force = order.param & hub::FORCE;
    const unsigned port = order.param & 0x7F;
    const Mask place = one(port);
    switch (order.op) {
        case hub::RESET_PORT_REPLY:
            pulses_.lock = {true, static_cast<std::uint8_t>(port), NOBODY};
            told_.ready_set |= place;
            pulses_.hello_ask |= place;
            vacate(place);
            break;
        case hub::DISABLE_REPLY:
            enabled_ &= ~place;
            vacate(place);
            break;
        case hub::ENABLE_REPLY:
            enabled_ |= place;
            told_.ready_set |= place;
            pulses_.hello_ask |= place;
            break;
        case hub::LOOP_BACK_REPLY: set(looped_, port, force); break;
        case hub::RESET_QUEUE_REPLY: told_.reset_queue |= place; break;
        case hub::RESET_HUB: reset_next_ = true; break;
        case hub::FORCE_CONNECTION_REPLY: {
            const bool mine = has(port_[order.port].targets, port);
            if (!(force && mine)) pulses_.closed |= place;
            work.enters = force && !mine;
            break;
        }
        case hub::FORCE_LOCK_REPLY:
            pulses_.lock = {true, static_cast<std::uint8_t>(port), force ? order.port : NOBODY};
            break;
        case hub::FORCE_READY_REPLY: (force ? told_.ready_set : told_.ready_clear) |= place; break;
        case hub::WATCHDOG_TIME_REPLY:
            log_ = order.param;
            restart_ = true;
            break;
        case hub::MONITOR_SELECT_REPLY: selected_ = order.param; break;
        case hub::MONITOR_READ_REPLY:
            order.value = shown(order.param);
            if (order.param & hub::POP && selected_ == static_cast<std::uint8_t>(hub::Select::EVENTS)) record_.pop();
            break;
        case hub::MONITOR_CLEAR_REPLY:
            if (order.param == static_cast<std::uint8_t>(hub::Clear::RECORD)) {
                record_.start(now_ + 1);
            } else if (order.param == static_cast<std::uint8_t>(hub::Clear::STOP)) {
                record_.stop();
            } else {
                for (std::uint16_t& counter : port_[port].counters) counter = 0;
            }
            break;
        case hub::ALLOW_SUPERVISOR_REPLY: set(allowed_, port, force); break;
        default: break;
    }
}

// Ends all that a port holds or is held by, but for the lock on it.
void Hub::vacate(Mask place) {
    told_.reset_queue |= place;
    told_.close_mine |= place;
    pulses_.closed |= place;
    pulses_.release |= place;
}

// A byte of what is selected.
std::uint8_t Hub::shown(std::uint8_t offset) const {
    if (selected_ < ports_) {
        if (offset >= 2 * COUNTERS) return 0;
        return static_cast<std::uint8_t>(port_[selected_].counters[offset / 2] >> (offset & 1 ? 0 : 8));
    }
    switch (static_cast<hub::Select>(selected_)) {
        case hub::Select::EVENTS: return record_.byte(offset & ~hub::POP);
        case hub::Select::FLAGS: return flags(offset);
        case hub::Select::IDENTITY: break;
    }
    const unsigned bytes[] = {hub::VERSION, ports_, hub::TRANSFER, hub::SET_UP, log_};
    return offset < sizeof bytes / sizeof *bytes ? static_cast<std::uint8_t>(bytes[offset]) : 0;
}

// The state of a port as the monitor shows it; 0 if there is no such port.
std::uint8_t Hub::flags(unsigned port) const {
    if (port >= ports_) return 0;
    unsigned flags = 0;
    const auto flag = [&](Mask ports, hub::Flag is) { flags |= has(ports, port) ? static_cast<unsigned>(is) : 0; };
    flag(enabled_, hub::Flag::ENABLED);
    flag(looped_, hub::Flag::LOOPED);
    flag(allowed_, hub::Flag::SUPERVISOR);
    flag(ready_bit_, hub::Flag::READY);
    flag(connected_shown_, hub::Flag::CONNECTED);
    flag(locked_shown_, hub::Flag::LOCKED);
    return static_cast<std::uint8_t>(flags);
}

}  // namespace nectar::fast
