// Cycles of a fast HUB in which only bytes move: most of those in which it is evaluated. docs/engine.md, "Fast boards".
//
// Nothing is on its way in the controller, on the reply bus or in the tables; commands may wait in vain. What is left
// of step() is passed by all bytes in the same way. A head that finds something else ends this.

#include "hub.h"

namespace nectar::fast {

namespace {

// Places in a queue that a calm HUB needs for what is on its way there.
constexpr unsigned LEAST_ROOM = 4;

}  // namespace

// Whether the next cycle does no more than move_bytes().
bool Hub::is_calm() const {
    if (resetting_ || held_rst_ || reset_next_ || frozen_ || thaws_ || record_.changes()) return false;
    const Mask ports = closing_ | taken_down_ | expired_ | recovered_ | resumes_ | resume_next_ | ended_ | unlocked_ |
                       asked_ | heard_ | starts_ | rising_ | starting_ | sources_ | asking_ | halting_ | cleared_ |
                       looping_ | looped_ | looped_here_ | picked_ | picked_before_ | giving_up_ | given_up_ | can_ |
                       at_once_ | told_.any() | reaches_.any();
    if (ports || response_port_ != NOBODY || unlocked_by_order_ != NOBODY || !counted_.empty()) return false;
    bool orders = chosen_.valid || decided_.valid || before_[0].valid || before_[1].valid || waiting_.valid ||
                  finishing_.valid || finished_.valid || work_.active;
    for (const Order& order : stages_) orders |= order.valid;
    if (orders || flights_[0].valid || flights_[1].valid) return false;
    if (connected_shown_ != connected_ || locked_shown_ != locked_ || enabled_here_ != enabled_) return false;
    if (ready_seen_ != ready_bit_) return false;
    if (pending_) {
        const bool checked = vain_ && !looked_up_ && !locks_changed_ && last_before_ == last_ &&
                             !(ready_checked_ != ready_seen_) && !(given_checked_ != giving_up_);
        const Grounds grounds{pending_, connected_, connected_shown_, locked_shown_, enabled_};
        if (!checked || !(grounds == grounds_)) return false;
    }
    const auto plain = [&](unsigned n, std::uint16_t symbol) {
        const HubPort& p = port_[n];
        return symbol < CONTROL_BIT && has(enabled_, n) && !(p.reply_place | p.arrived) && p.queue.room() >= LEAST_ROOM;
    };
    bool bytes = true;
    each(arriving_, [&](unsigned n) { bytes = bytes && plain(n, port_[n].symbol); });
    each(held_valid_, [&](unsigned n) { bytes = bytes && plain(n, held_payload_[n]); });
    return bytes;
}

// move_bytes() follows.
void Hub::calm_down() {
    calm_ = true;
    pulses_ = Pulses();
    each(arriving_, [&](unsigned n) { port_[n].queue.preset(0, port_[n].symbol); });
    each(held_valid_, [&](unsigned n) { port_[n].queue.preset(has(arriving_, n), held_payload_[n]); });
    odd_inputs_ = ~enabled_;
    each(all_, [&](unsigned n) {
        if (port_[n].reply_place | port_[n].arrived) add(odd_inputs_, n);
    });
    odd_outputs_ = Mask();
    each(sending_, [&](unsigned n) {
        if (is_odd(port_[n])) add(odd_outputs_, n);
    });
}

// Whether something else than bytes is on its way out.
bool Hub::is_odd(const HubPort& p) {
    constexpr auto START = static_cast<std::uint16_t>(Control::START);
    bool odd = p.answers || (p.readies | p.sending) || !p.replies.empty() || p.out == START;
    for (const Beat& beat : {p.beside, p.waiting[0], p.waiting[1]}) odd |= beat.closes || beat.symbol == START;
    return odd;
}

// is_busy() in cycles of move_bytes().
bool Hub::is_moving() const {
    const Mask held = connecting_ | locking_ | partial_ | held_;
    return arriving_ | queued_ | sending_ | pending_ | moved_ || (log_ && held);
}

// A cycle of a calm HUB.
void Hub::move_bytes() {
    const Mask held = connecting_ | locking_ | partial_ | queued_;
    const Mask outputs = sending_, odd = sending_ & odd_outputs_, full_before = full_;
    Mask full, sending, showing;
    each(odd, [&](unsigned n) { output(n); });
    HubPort* const ports = port_.get();
    const Mask may_send = held_ready_;
    each(outputs & ~odd, [&](unsigned n) __attribute__((always_inline)) {
        HubPort& p = ports[n];
        p.fresh = !p.valid || has(may_send, n);
        bool shifts = p.behind;
        if (p.fresh && p.has_beside) {
            p.out = p.beside.symbol;
            p.valid = true;
            p.has_beside = shifts = false;
        } else if (p.fresh) {
            p.out = p.behind ? p.waiting[0].symbol : 0;
            p.valid = p.behind;
        } else if (p.has_beside) {
            shifts = false;
        } else if (p.behind) {
            p.beside = p.waiting[0];
            p.has_beside = true;
        }
        if (shifts) {
            p.waiting[0] = p.waiting[1];
            --p.behind;
        }
        if (p.behind == 2) add(full, n);
        if (p.valid || p.has_beside || p.behind) add(sending, n);
        if (p.valid) add(showing, n);
        tx_valid_[n] = p.valid;
        tx_payload_[n] = p.out;
    });

    // Queues and heads.
    bool other = false;
    Mask moved, pushed, resting, emptied;
    queued_ |= arriving_;
    turning_ |= arriving_;
    const Mask heads = queued_ & ~awaiting_, turning = turning_, arriving = arriving_;
    each(heads | turning, [&](unsigned n) __attribute__((always_inline)) {
        HubPort& p = ports[n];
        bool turns = has(turning, n);
        if (has(arriving, n)) p.queue.admit();
        if (has(heads, n)) {
            if (p.state != Head::PASS) {
                head(n);
                other = turns = true;
            } else if (p.queue.readable()) {
                const std::uint16_t entry = p.queue.oldest();
                if (entry >= CONTROL_BIT || p.closing || !p.targets) {
                    go_on(n, p, p.asked || p.answers || p.answered == now_);
                    other = turns = true;
                } else if (!(p.targets & full_before)) {
                    p.queue.pop();
                    p.in_run = false;
                    add(moved, n);
                    turns = true;
                    pushed |= p.targets;
                    each(p.targets, [&](unsigned o) {
                        HubPort& to = ports[o];
                        to.waiting[to.behind++] = {entry, false};
                        if (to.behind == 2) add(full, o);
                    });
                }
            }
        }
        if (!turns) return;
        if (p.queue.rests()) add(resting, n);
        p.queue.tick();
        levels_[n] = static_cast<std::uint16_t>(p.queue.level());
        if (p.queue.empty() && p.state == Head::PASS) add(emptied, n);
    });
    pulses_.moved = other ? pulses_.moved | moved : moved;
    turning_ = (turning_ | moved) & ~resting;
    queued_ &= ~emptied;
    const Mask plain = (outputs | pushed) & ~odd;
    full_ = (full_ & ~plain) | full;
    sending_ = (sending_ & ~plain) | sending | pushed;
    showing_ = (showing_ & ~plain) | showing;
    if (other || starts_) {
        calm_ = false;
        pulses_.pushed |= pushed;
        finish(outputs, held, ended_);
        each(held_valid_, [&](unsigned n) { held_payload_[n] = port_[n].queue.preset(0); });
        load_inputs();
        return;
    }
    each(odd, [&](unsigned n) {
        settle_output(n);
        if (!is_odd(port_[n])) drop(odd_outputs_, n);
    });
    watch(held);
    arriving_ = held_valid_;
}

// What arrives at a calm HUB. Bytes go to their places in the queues at once, where they are found two cycles later.
void Hub::take_bytes() {
    bool plain = !(came_ & odd_inputs_ || held_rst_ || closing_ || expired_);
    each(came_, [&](unsigned n) {
        Queue& queue = port_[n].queue;
        queue.preset(has(arriving_, n), rx_payload_[n]);
        plain = plain && rx_payload_[n] < CONTROL_BIT && queue.room() >= LEAST_ROOM;
    });
    held_valid_ = came_;
    held_ready_ = may_send_;
    if (plain) return;
    calm_ = false;
    each(came_, [&](unsigned n) { held_payload_[n] = rx_payload_[n]; });
    each(arriving_, [&](unsigned n) {
        port_[n].symbol = port_[n].queue.preset(0);
        port_[n].kind = Arrival::BYTE;
    });
}

}  // namespace nectar::fast
