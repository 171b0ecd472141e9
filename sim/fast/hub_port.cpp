// The ports of a fast HUB. docs/hub.md, "Input side of a port" and "Output side of a port"; docs/wire.md.

#include "hub.h"

namespace nectar::fast {

Arrival kind_of(std::uint16_t symbol, bool enabled) {
    if (!(symbol & CONTROL_BIT)) return enabled ? Arrival::BYTE : Arrival::NOTHING;
    switch (static_cast<Control>(symbol)) {
        case Control::IDLE: return Arrival::NOTHING;
        case Control::START: return enabled ? Arrival::FRAME : Arrival::REFUSED;
        case Control::COMMAND: return enabled ? Arrival::COMMAND : Arrival::REFUSED;
        case Control::REPLY: return enabled ? Arrival::REPLY : Arrival::REFUSED;
        case Control::END: return enabled ? Arrival::FRAME : Arrival::NOTHING;
        case Control::READY: return enabled ? Arrival::READY : Arrival::NOTHING;
    }
    return enabled ? Arrival::RESERVED : Arrival::NOTHING;
}

namespace {

constexpr auto code(Control control) { return static_cast<std::uint16_t>(control); }

// Whether a HUB takes the command from its queue.
bool is_own(std::uint8_t op, std::uint8_t hub, std::uint8_t id) {
    if (op == hub::CLOSE_ALL) return false;
    const bool any = op == hub::ECHO_REPLY || op == hub::IDENTITY_REPLY || op == hub::SIZE_REPLY;
    return hub == id || (hub == hub::ANY_HUB && any);
}

}  // namespace

// What stands in the input registers in the next cycle.
void Hub::load_inputs() {
    Mask loads = held_valid_ & ~looped_here_;
    Mask arriving;
    each(loads, [&](unsigned n) {
        HubPort& p = port_[n];
        p.symbol = held_payload_[n];
        p.kind = kind_of(p.symbol, has(enabled_here_, n));
        if (p.kind != Arrival::NOTHING) add(arriving, n);
    });
    each(looped_here_ & looping_, [&](unsigned n) {
        HubPort& p = port_[n];
        p.symbol = p.looped;
        p.kind = kind_of(p.symbol, has(enabled_here_, n));
        if (p.kind != Arrival::NOTHING) add(arriving, n);
    });
    arriving_ = arriving;
}

// Takes the symbols in the input registers. A byte of no command and no reply goes into the queue.
void Hub::decode(const Mask& ports) {
    each(ports, [&](unsigned n) {
        HubPort& p = port_[n];
        const bool plain = p.kind == Arrival::BYTE && !(p.reply_place | p.arrived) && has(enabled_here_, n);
        if (plain && p.queue.room()) {
            put(n, p, p.symbol);
        } else {
            decode(n);
        }
    });
}

// Takes the symbol in the input register.
void Hub::decode(unsigned n) {
    HubPort& p = port_[n];
    if (p.kind == Arrival::REFUSED) count(n, hub::CounterId::DISABLED);
    if (!has(enabled_here_, n)) return;
    switch (p.kind) {
        case Arrival::NOTHING:
        case Arrival::REFUSED: return;
        case Arrival::READY: add(heard_, n); return;
        case Arrival::BYTE: decode_byte(n, p); return;
        default: break;
    }
    // A control code cuts a reply, and all but a reply and a reserved code cut a command.
    if (p.reply_place) count(n, hub::CounterId::REPLY_CUT);
    p.reply_place = p.kind == Arrival::REPLY;
    if (p.kind == Arrival::REPLY) return;
    if (p.kind == Arrival::RESERVED) {
        count(n, hub::CounterId::RESERVED);
        return;
    }
    if (p.arrived) count(n, hub::CounterId::COMMAND_CUT);
    p.arrived = 0;
    drop(partial_, n);
    const unsigned room = p.queue.room();
    if (p.kind == Arrival::COMMAND) {
        p.arrived = 1;
        p.fate = room >= COMMAND_LENGTH ? Fate::GOOD : Fate::SPOILED;
        if (p.fate == Fate::GOOD) add(partial_, n);
        if (p.fate == Fate::SPOILED) count(n, hub::CounterId::OVERRUN);
    } else if (room) {
        put(n, p, p.symbol);
    } else {
        count(n, hub::CounterId::OVERRUN);
    }
}

void Hub::decode_byte(unsigned n, HubPort& p) {
    const auto byte = static_cast<std::uint8_t>(p.symbol);
    if (p.reply_place) {
        if (p.reply_place == 1) p.reply_refused = p.replies_arrived.full();
        p.reply_arriving.bytes[p.reply_place - 1] = byte;
        if (p.reply_place++ < COMMAND_LENGTH - 1) return;
        p.reply_place = 0;
        if (p.reply_refused) {
            count(n, hub::CounterId::REPLY_LOST);
        } else {
            p.replies_arrived.push(p.reply_arriving);
            add(sources_, n);
        }
        return;
    }
    if (!p.arrived) {
        if (p.queue.room()) {
            put(n, p, p.symbol);
        } else {
            count(n, hub::CounterId::OVERRUN);
        }
        return;
    }
    if (p.fate == Fate::SPOILED) count(n, hub::CounterId::OVERRUN);
    p.frame[p.arrived++] = byte;
    if (p.arrived < COMMAND_LENGTH) return;
    p.arrived = 0;
    drop(partial_, n);
    command_arrived(n, p);
}

// The last byte of a command is there.
void Hub::command_arrived(unsigned n, HubPort& p) {
    const std::uint8_t op = p.frame[1], id = p.frame[2], param = p.frame[3];
    if (is_own(op, id, hub_id_)) {
        const bool flush = op == hub::FLUSH_REPLY && (p.fate == Fate::GOOD || p.fate == Fate::SPOILED);
        if (p.fate != Fate::GOOD && !flush) return;
        if (flush) {
            add(cleared_, n);
            count(n, hub::CounterId::FLUSHED);
        }
        put(n, p, Queue::OWN | op);
        put(n, p, param);
    } else {
        if (p.fate != Fate::GOOD) return;
        put(n, p, code(Control::COMMAND));
        put(n, p, op == hub::CLOSE_ALL ? Queue::CLOSES | op : op);
        put(n, p, id);
        put(n, p, param);
    }
}

// -- output side ------------------------------------------------------------------------------------

// Takes the next symbol of the replies.
std::uint16_t Hub::reply_symbol(HubPort& p) {
    if (!p.sending) {
        p.sends_own = p.answers && (!p.own_last || p.replies.empty());
        p.own_last = p.sends_own;
        p.sending = 1;
        return code(Control::REPLY);
    }
    const Reply& reply = p.sends_own ? p.answer : p.replies.front();
    const std::uint8_t byte = reply.bytes[p.sending - 1];
    if (++p.sending < COMMAND_LENGTH) return byte;
    p.sending = 0;
    if (p.sends_own) {
        p.answers = false;
        p.answered = now_;
    } else {
        p.replies.pop();
    }
    return byte;
}

// A cycle of the outputs. Where nothing but symbols from the crossbar is under way, the next of them moves up.
void Hub::output(const Mask& ports) {
    const Mask others = ended_ | looped_here_;
    each(ports, [&](unsigned n) {
        HubPort& p = port_[n];
        const bool own = p.has_beside | p.answers | (p.readies | p.sending) | !p.replies.empty();
        if (own || p.waiting[0].closes || !p.behind || has(others, n)) return output(n);
        if (p.fresh && p.valid && p.out == code(Control::START)) add(starts_, n);
        p.fresh = !p.valid || has(held_ready_, n);
        if (p.fresh) {
            p.valid = true;
            p.out = p.waiting[0].symbol;
        } else {
            p.beside = p.waiting[0];
            p.has_beside = true;
        }
        p.waiting[0] = p.waiting[1];
        --p.behind;
    });
}

void Hub::output(unsigned n) {
    HubPort& p = port_[n];
    const bool ended = has(ended_, n);
    const bool enters = p.fresh && p.valid && p.out == code(Control::START);
    const bool load = !p.valid || has(looped_here_, n) || has(held_ready_, n);
    Beat comes;
    bool any = false;
    if (p.behind && !p.has_beside) {
        comes = p.waiting[0];
        p.waiting[0] = p.waiting[1];
        --p.behind;
        any = true;
    }
    drop(closing_, n);
    if (load) {
        const bool leaves = p.has_beside || any;
        const Beat& leaving = p.has_beside ? p.beside : comes;
        p.valid = leaves;
        p.out = leaving.symbol;
        if (leaves && leaving.closes && !ended) add(closing_, n);
        p.has_beside = true;
        if (p.readies) {
            --p.readies;
            p.beside = {code(Control::READY), false};
        } else if (p.sending || p.answers || !p.replies.empty()) {
            p.beside = {reply_symbol(p), false};
        } else {
            p.has_beside = false;
        }
    } else if (!p.has_beside && any) {
        p.beside = comes;
        p.has_beside = true;
    }
    if (ended) p.beside.closes = p.waiting[0].closes = p.waiting[1].closes = false;
    p.fresh = load;
    if (enters) add(starts_, n);
}

// -- head of the queue ------------------------------------------------------------------------------

void Hub::give_answer(unsigned n, HubPort& p, bool done, std::uint8_t value) {
    if (!(p.op & hub::REPLY) || p.op == hub::HELLO_ASK) return;
    p.answer = {{static_cast<std::uint8_t>((p.op & ~hub::REPLY) | (done ? hub::REPLY : 0)), hub_id_, value}};
    p.answers = true;
    add(sending_, n);
}

// A cycle of the heads: those that are `told` something, and those with something to take. A byte that all outputs can
// take goes on.
void Hub::take(const Mask& heads, const Mask& told) {
    each(heads, [&](unsigned n) {
        HubPort& p = port_[n];
        if (p.state != Head::PASS || has(told, n)) return head(n);
        if (!p.queue.readable()) return;
        const std::uint16_t entry = p.queue.oldest();
        if (entry >= CONTROL_BIT || p.closing || !p.targets) {
            go_on(n, p, p.asked || p.answers || p.answered == now_);
            return;
        }
        if (p.targets & full_) return;
        p.queue.pop();
        add(turning_, n);
        add(pulses_.moved, n);
        p.in_run = false;
        send_on(p, {entry, false});
    });
}

void Hub::head(unsigned n) {
    HubPort& p = port_[n];
    const bool halts = has(halting_, n);
    const bool ends = halts || has(expired_, n);
    const bool resumes = has(resumes_, n);
    const bool responds = response_port_ == n;
    const bool readable = p.queue.readable();
    const bool waits = p.asked || p.answers || p.answered == now_;
    const bool passing = !halts && (p.state == Head::PASS || resumes);
    const bool takes_own = !halts && p.state == Head::CLOSING;
    const bool closes = p.ends;
    const Head rest = closes && p.targets ? Head::CLOSING : Head::PASS;
    p.ends = closes && p.targets;
    if (responds) {
        if (counted(response_.error) != NOT_COUNTED) count(n, static_cast<hub::CounterId>(counted(response_.error)));
        give_answer(n, p, !response_.error, response_.error ? response_.error : response_.value);
        p.asked = false;
    }
    if (responds || resumes) add(pulses_.moved, n);
    switch (p.state) {
        case Head::PASS: break;
        case Head::PARAMETER:
            if (halts) {
                p.state = rest;
            } else if (readable) {
                p.param = static_cast<std::uint8_t>(take(n, p));
                p.state = Head::EXECUTE;
            }
            break;
        case Head::EXECUTE:
            if (closes) {
                if (halts) p.state = rest;
                break;
            }
            execute(n, p);
            if (p.state == Head::WAIT && ends) add(giving_up_, n);
            break;
        case Head::END:
            end(n, p);
            p.state = Head::PASS;
            break;
        case Head::WAIT:
            if (responds || resumes) {
                p.state = Head::PASS;
            } else if (ends) {
                add(giving_up_, n);
            }
            break;
        case Head::CLOSING: p.state = rest; break;
    }
    if (p.state != Head::WAIT) drop(giving_up_, n);
    if (readable && (passing || (takes_own && p.queue.oldest() & Queue::OWN))) go_on(n, p, waits);
    set(awaiting_, n, p.state == Head::WAIT);
    add(turning_, n);
}

// Takes what is at the head, if that can be. `waits`: a command cannot.
void Hub::go_on(unsigned n, HubPort& p, bool waits) {
    if (!(p.queue.oldest() & Queue::OWN)) {
        pass(n, p);
    } else if (!waits) {
        p.op = static_cast<std::uint8_t>(take(n, p));
        add(pulses_.moved, n);
        p.in_run = false;
        p.state = Head::PARAMETER;
    }
}

// Passes a symbol on, if all connected outputs can take it.
void Hub::pass(unsigned n, HubPort& p) {
    if (p.targets & full_) return;
    const std::uint16_t entry = take(n, p);
    add(pulses_.moved, n);
    const auto symbol = static_cast<std::uint16_t>(entry & 0x1FF);
    const bool is_code = symbol == code(Control::COMMAND);
    // Place in a close all, 1 to 4, or 0; its code does not tell yet.
    if (p.closing) {
        p.closing = p.closing == COMMAND_LENGTH ? 0 : p.closing + 1;
    } else if (entry & Queue::CLOSES) {
        p.closing = 2;
    }
    const bool closes = p.closing == COMMAND_LENGTH;
    if (symbol == code(Control::START)) {
        count(n, hub::CounterId::PACKETS);
        add(pulses_.send_ready, n);
    }
    if (p.targets) {
        p.in_run = false;
        if (symbol == code(Control::START)) starting_ |= p.targets;
        send_on(p, {symbol, closes});
        if (closes) {
            p.state = Head::CLOSING;
            p.ends = true;
        }
    } else if (p.closing) {
        p.in_run = false;
    } else if (!is_code) {
        if (!p.in_run) count(n, hub::CounterId::NO_CONNECTION);
        p.in_run = true;
    }
    if (closes) p.closing = 0;
}

// Gives a symbol to the outputs connected to a port.
inline void Hub::send_on(HubPort& p, Beat beat) {
    each(p.targets, [&](unsigned o) {
        HubPort& to = port_[o];
        to.waiting[to.behind++] = {beat.symbol, beat.closes && !has(ended_, o)};
    });
    pulses_.pushed |= p.targets;
}

void Hub::execute(unsigned n, HubPort& p) {
    p.error = 0;
    switch (p.op) {
        case hub::CLOSE:
        case hub::CLOSE_REPLY:
            if (p.param >= ports_ || p.param == n) {
                p.error = hub::BAD_PORT;
            } else if (!has(p.targets, p.param)) {
                p.error = hub::NOT_MINE;
            }
            p.state = Head::END;
            return;
        case hub::CLOSE_MINE:
        case hub::CLOSE_MINE_REPLY:
        case hub::CLOSE_ALL_REPLY: p.state = Head::END; return;
        default: break;
    }
    p.asked = true;
    p.state = Head::WAIT;
    requests_[n] = {p.op, p.param};
    add(asked_, n);
}

// A command that closes, in its second cycle.
void Hub::end(unsigned n, HubPort& p) {
    give_answer(n, p, !p.error, p.error ? p.error : p.param);
    if (p.error) {
        count(n, static_cast<hub::CounterId>(counted(p.error)));
    } else if (p.op == hub::CLOSE || p.op == hub::CLOSE_REPLY) {
        add(pulses_.closed_here, p.param);
    } else {
        add(pulses_.close_mine, n);
    }
}

}  // namespace nectar::fast
