// Cycles of a fast HUB in which only bytes move: most of those in which it is evaluated. docs/engine.md, "Fast boards".
//
// Nothing is on its way in the controller, on the reply bus or in the tables; commands may wait in vain. What is left
// of step() is passed by all bytes in the same way. A head that finds something else ends this.

#include "hub.h"

namespace nectar::fast {

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
    bool plain = true;
    each(arriving_, [&](unsigned n) {
        const HubPort& p = port_[n];
        plain = plain && p.kind == Arrival::BYTE && !(p.reply_place | p.arrived);
    });
    return plain;
}

// is_busy() in cycles of move_bytes().
bool Hub::is_moving() const {
    const Mask held = connecting_ | locking_ | partial_ | held_;
    return arriving_ | queued_ | sending_ | pending_ | moved_ || (log_ && held);
}

// A cycle of a calm HUB.
void Hub::move_bytes() {
    constexpr auto START = static_cast<std::uint16_t>(Control::START);
    const Mask held = connecting_ | locking_ | partial_ | queued_;
    const Mask outputs = sending_;
    pulses_.moved = pulses_.pushed = Mask();

    each(outputs, [&](unsigned n) {
        HubPort& p = port_[n];
        const bool own = p.answers | (p.readies | p.sending) | !p.replies.empty();
        if (own || p.waiting[0].closes || p.beside.closes || p.out == START) return output(n);
        p.fresh = !p.valid || has(held_ready_, n);
        if (p.fresh) {
            p.valid = p.has_beside || p.behind;
            p.out = p.has_beside ? p.beside.symbol : p.behind ? p.waiting[0].symbol : 0;
            if (p.has_beside) {
                p.has_beside = false;
                return;
            }
        } else {
            if (p.has_beside || !p.behind) return;
            p.beside = p.waiting[0];
            p.has_beside = true;
        }
        if (!p.behind) return;
        p.waiting[0] = p.waiting[1];
        --p.behind;
    });

    // Queues and heads.
    bool other = false;
    Mask moved, pushed, resting, emptied;
    const Mask arriving = arriving_;
    each(arriving, [&](unsigned n) {
        HubPort& p = port_[n];
        if (p.queue.room()) return put(n, p, p.symbol);
        decode(n);
        other = true;
    });
    const Mask heads = queued_ & ~awaiting_;
    const Mask turning = turning_;
    each(heads | turning, [&](unsigned n) {
        HubPort& p = port_[n];
        bool turns = has(turning, n);
        if (has(heads, n)) {
            if (p.state != Head::PASS) {
                head(n);
                other = turns = true;
            } else if (p.queue.readable()) {
                const std::uint16_t entry = p.queue.oldest();
                if (entry >= CONTROL_BIT || p.closing || !p.targets) {
                    go_on(n, p, p.asked || p.answers || p.answered == now_);
                    other = turns = true;
                } else if (!(p.targets & full_)) {
                    p.queue.pop();
                    p.in_run = false;
                    add(moved, n);
                    turns = true;
                    pushed |= p.targets;
                    each(p.targets, [&](unsigned o) {
                        HubPort& to = port_[o];
                        to.waiting[to.behind++] = {entry, false};
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
    pulses_.moved |= moved;
    pulses_.pushed |= pushed;
    turning_ = (turning_ | moved) & ~resting;
    queued_ &= ~emptied;
    if (other || starts_ || starting_) {
        calm_ = false;
        finish(outputs, held, ended_);
        load_inputs();
        return;
    }

    Mask full, sending, showing;
    const Mask changed = outputs | pushed;
    each(changed, [&](unsigned n) {
        HubPort& p = port_[n];
        const bool own = (p.readies | p.sending) || p.answers || !p.replies.empty();
        if (p.behind == 2) add(full, n);
        if (own || p.valid || p.has_beside || p.behind) add(sending, n);
        if (p.valid) add(showing, n);
        tx_valid_[n] = p.valid;
        tx_payload_[n] = p.out;
    });
    full_ = (full_ & ~changed) | full;
    sending_ = (sending_ & ~changed) | sending;
    showing_ = (showing_ & ~changed) | showing;
    watch(held);
    calm_ = load_bytes() && !closing_ && !expired_;
}

// load_inputs() for bytes. Returns whether nothing else is in the input registers.
bool Hub::load_bytes() {
    bool plain = true;
    Mask arriving;
    each(held_valid_, [&](unsigned n) {
        HubPort& p = port_[n];
        p.symbol = held_payload_[n];
        p.kind = kind_of(p.symbol, has(enabled_, n));
        if (p.kind == Arrival::NOTHING) return;
        add(arriving, n);
        plain = plain && p.kind == Arrival::BYTE && !(p.reply_place | p.arrived);
    });
    arriving_ = arriving;
    return plain;
}

}  // namespace nectar::fast
