// The state of a fast HUB that a reset sets, but for its ports.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "hub_port.h"
#include "hub_record.h"
#include "mask.h"

namespace nectar::fast {

constexpr unsigned MOST_PORTS = 128;
constexpr std::uint8_t NOBODY = 0xFF;

// A command for the central controller.
struct Request {
    std::uint8_t op;
    std::uint8_t param;
};
// A decision, and what becomes of it.
struct Order {
    bool valid = false;
    std::uint8_t port = 0;
    std::uint8_t op = 0;
    std::uint8_t param = 0;
    bool done = false;
    bool had = false;         // what it asked for it had already
    bool entered = false;     // a connection was made
    bool expired = false;     // the watchdog has met it while it waited
    bool supervisor = false;  // for the supervisor
    bool free = false;        // no other input is connected to the output
    std::uint8_t error = 0;   // 0: none
    std::uint8_t value = 0;
};
struct LockChange {
    bool valid = false;
    std::uint8_t output = 0;
    std::uint8_t holder = NOBODY;
};
// What the tables say of commands depends on this.
struct Grounds {
    Mask asking, connected, connected_shown, locked_shown, enabled;

    bool operator==(const Grounds& other) const { return std::memcmp(this, &other, sizeof *this) == 0; }
};
// What the tables say of the output that a command names: ports whose commands find it so.
struct Seen {
    Mask mine;    // connected to the port
    Mask idle;    // connected to nobody
    Mask free;    // locked by nobody else
    Mask usable;  // enabled
};
// A supervisor command that is carried out.
struct Supervision {
    bool active = false;
    std::int64_t begin = 0;
    Order order;
    bool enters = false;
};
// A reply on the bus, or a hello.
struct Flight {
    bool valid = false;
    bool asks = false;  // a neighbour is to be asked
    std::int64_t picked = 0;
    std::uint8_t origin = 0;
    std::uint8_t target = NOBODY;
    bool fits = false;
    Reply content{};
    Reply sent{};
};
// What the controller tells the ports, and the supervisor the tables: it reaches them in the next cycle.
struct Told {
    Mask close_mine;
    Mask reset_queue;
    Mask ready_set;
    Mask ready_clear;
    Mask send_ready;

    Mask any() const { return close_mine | reset_queue | ready_set | ready_clear | send_ready; }
};
// What happens in a cycle.
struct Pulses {
    Mask close_mine;   // inputs
    Mask passed;       // outputs through which a close all has passed
    Mask closed;       // outputs
    Mask closed_here;  // outputs closed by their own input
    Mask release;      // inputs
    Mask send_ready;   // ports
    Mask hello_ask;
    Mask moved;
    Mask pushed;       // outputs that got a symbol from the crossbar
    LockChange lock;
    std::uint8_t given_back = NOBODY;  // output whose lock ends
    std::uint8_t enter_input = NOBODY;
    std::uint8_t enter_output = 0;
    bool reset_hub = false;
};

struct HubState {
    Pulses pulses_;
    Told told_;            // in this cycle
    Told reaches_;         // in the cycle before

    // Ports: at which something is in the input register, in or at the head of the queue, at the output register.
    Mask arriving_;
    Mask queued_;
    Mask sending_;
    Mask showing_;   // outputs with a symbol at the pins
    Mask turning_;   // queues in which something was put in or taken out, or is on its way to the head
    Mask awaiting_;  // heads that do nothing before the controller responds
    Mask partial_;   // a part of a command has arrived
    Mask cleared_;   // queues that are emptied in this cycle
    Mask halting_;   // and those that were in the cycle before
    Mask heard_;     // ports at which a ready has arrived
    Mask starts_;    // outputs at which a start is first at the pins
    Mask looping_;   // ports whose output register has a symbol for the loop
    Mask asked_;     // inputs that give the controller a command
    Mask sources_;   // ports at which a reply waits for the bus
    Mask full_;      // outputs that take no symbol from the crossbar
    Mask ready_bit_;
    Mask rising_;    // outputs whose ready bit was 0 in the cycle before
    Mask starting_;  // outputs that a start is on its way to
    Mask closing_;   // outputs whose connection the symbol just loaded closes

    // Status table and locks. What is shown of their ends is a cycle late.
    Mask connected_;
    Mask connected_shown_;
    Mask ended_;
    Mask connecting_;  // inputs
    Mask locked_;
    Mask locked_shown_;
    Mask unlocked_;
    Mask locking_;     // inputs
    Mask recovered_;   // outputs whose ready bits the watchdog sets

    // The ports' state.
    Mask enabled_;
    Mask looped_;
    Mask enabled_here_;  // as the ports see it in this cycle
    Mask looped_here_;
    Mask allowed_;
    std::uint8_t selected_ = 0;

    // Controller.
    Request requests_[MOST_PORTS];
    Mask pending_;
    Grounds grounds_;      // of the last look at the tables,
    Seen seen_;            // and what it found
    bool looked_up_ = false;      // since the last check
    bool locks_changed_ = false;  // since the last look
    Mask ready_seen_;      // outputs that are ready, in the cycle before
    Mask ready_checked_;   // what the last check looked at, but for the tables
    Mask given_checked_;
    bool vain_ = false;    // it found nothing that can be done
    Mask can_;
    Mask at_once_;
    Mask had_;
    Mask giving_up_;
    Mask given_up_;        // met by the watchdog while they waited
    unsigned last_ = 0, last_before_ = 0;  // whose turn was last, now and in the cycle before
    Mask picked_;          // in the cycle before
    Mask picked_before_;   // and in the one before that
    Order chosen_;         // what was picked
    Order decided_;        // in this cycle
    Order before_[2];      // in the cycles before, the last first
    Order stages_[4];      // orders in the cycles behind
    std::uint8_t unlocked_by_order_ = NOBODY;  // output whose lock an order gives back
    Mask resumes_;
    Mask resume_next_;
    std::uint8_t response_port_ = NOBODY;
    Order response_;
    bool frozen_ = false;
    bool thaws_ = false;   // the last supervisor command was finished in the cycle before

    // Supervisor.
    Supervision work_;
    Order waiting_;
    Order finishing_;
    Order finished_;

    // Reply bus.
    Flight flights_[2];
    unsigned flight_ = 0;
    std::int64_t bus_free_ = 0;
    unsigned bus_last_ = 0;
    Mask asking_;
    Mask taken_down_;  // outputs whose connection a close all reply closes, in the next cycle

    // Watchdog.
    unsigned log_ = 0;
    std::int64_t running_ = 0;
    bool restart_ = false;
    Mask held_;
    Mask moved_;
    Mask still_;
    Mask expired_;

    // Errors that are not shown in the sums yet: cycle in which they are, and port.
    struct Counted {
        std::int64_t shown = 0;
        std::uint8_t port = 0;
    };
    std::vector<Counted> counted_;
    HubRecord record_;
};

}  // namespace nectar::fast
