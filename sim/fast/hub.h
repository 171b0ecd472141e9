// A HUB in C++, written from docs/hub.md: the same cycles at its pins as the RTL. docs/engine.md, "Fast boards".
//
// step() is a clock cycle. All parts see the state at its beginning: what a part changes for others stands in
// `pulses_` until the end of the cycle, when the tables take it. The parts run in the order of the files: the central
// controller (hub_central.cpp, hub_supervisor.cpp), then the ports (hub_port.cpp), then reply bus, tables and watchdog
// (hub.cpp). Only ports at which something is under way are visited. move_bytes() (hub_bytes.cpp) does the same as
// step() where only bytes move.
#pragma once

#include <cstdint>
#include <memory>

#include "board.h"
#include "hub_flow.h"
#include "hub_port.h"
#include "hub_state.h"
#include "mask.h"

namespace nectar::fast {

class Hub : private HubState, public Relay {
  public:
    Hub(unsigned ports, Pins& pins);

    // A rising edge of the clock.
    void edge();

    std::uint32_t repeats(Port* ports, std::size_t wired, std::int64_t edge, std::int64_t time, std::int64_t period,
                          Notice told, void* whom) override;
    void repeat(Port* ports, std::uint32_t patterns) override;

  private:
    static constexpr int NOT_COUNTED = -1;
    static constexpr std::int64_t ERROR_SHOWN = 2;
    // Counter of a refusal, or NOT_COUNTED.
    static int counted(std::uint8_t error);

    void reset();
    void step();
    void finish(Mask outputs, Mask held, Mask closed_before);
    bool is_busy() const;
    void empty(unsigned port);
    void settle_queue(unsigned port);
    void settle_output(unsigned port);

    // Cycles in which nothing but bytes move.
    bool is_calm() const;
    bool is_moving() const;
    static bool is_odd(const HubPort& p);
    void calm_down();
    void move_bytes();
    void take_bytes();
    FlowState flow_state() const;
    PortFlow port_flow(const Port& port, std::int64_t time) const;
    void send_ahead(Port& output, const Port& input, bool arrives, Notice told, void* whom) const;

    // Central controller.
    void control();
    void enter();
    void decide();
    void look_up();
    void check();
    bool takes(const Order& decision, bool is_recent, unsigned port, bool had) const;
    void form_order();
    void record(const Order& order);
    std::uint8_t refusal(const Order& order) const;
    void answer(Order& order);
    void act(Order& order);
    void respond(const Order& order);
    std::uint8_t lock_holder(unsigned output) const;

    // Supervisor commands.
    void supervise();
    std::uint8_t supervisor_error(const Order& order) const;
    void carry_out(Supervision& work);
    std::uint8_t shown(std::uint8_t offset) const;
    std::uint8_t flags(unsigned port) const;
    void look(Supervision& work);
    void vacate(Mask place);

    // Ports.
    void decode(const Mask& ports);
    void decode(unsigned port);
    void decode_byte(unsigned port, HubPort& p);
    void command_arrived(unsigned port, HubPort& p);
    void output(const Mask& ports);
    void output(unsigned port);
    std::uint16_t reply_symbol(HubPort& p);
    void take(const Mask& heads, const Mask& told);
    void head(unsigned port);
    void go_on(unsigned port, HubPort& p, bool waits);
    void pass(unsigned port, HubPort& p);
    void send_on(HubPort& p, Beat beat);
    void execute(unsigned port, HubPort& p);
    void end(unsigned port, HubPort& p);
    void give_answer(unsigned port, HubPort& p, bool done, std::uint8_t value);
    void load_inputs();
    void put(unsigned port, HubPort& p, std::uint16_t entry) {
        p.queue.put(entry);
        add(queued_, port);
        add(turning_, port);
    }
    std::uint16_t take(unsigned port, HubPort& p) {
        const std::uint16_t entry = p.queue.oldest();
        p.queue.pop();
        add(turning_, port);
        return entry;
    }

    // Reply bus.
    void bus(Mask sources);
    void route(Flight& flight);
    void deliver(Flight& flight);
    void append_replies();

    // Tables and watchdog.
    void count(unsigned port, hub::CounterId counter, std::int64_t late = 0);
    void commit_tables();
    void commit_locks();
    void watch(Mask held);

    unsigned ports_;
    unsigned names_;  // numbers that the low bits of a parameter can tell apart
    Mask all_;
    std::unique_ptr<HubPort[]> port_;

    // Pins, and what the wrapper of an RTL board keeps of them for a cycle.
    std::uint8_t clk_ = 0;
    std::uint8_t clk_before_ = 0;
    std::uint8_t rst_ = 1;
    Mask came_;      // as rx_valid_ and
    Mask may_send_;  // tx_ready_
    std::uint8_t idle_ = 0;
    std::uint8_t hub_id_ = 0;
    alignas(16) std::uint8_t rx_valid_[MOST_PORTS] = {};
    alignas(16) std::uint8_t tx_ready_[MOST_PORTS] = {};
    alignas(16) std::uint8_t tx_valid_[MOST_PORTS] = {};
    std::uint16_t rx_payload_[MOST_PORTS] = {};
    std::uint16_t tx_payload_[MOST_PORTS] = {};
    std::uint16_t held_payload_[MOST_PORTS] = {};
    std::uint16_t levels_[MOST_PORTS] = {};
    Mask held_valid_;
    Mask held_ready_;
    bool held_rst_ = true;
    bool resetting_ = true;
    bool calm_ = false;  // the next cycle is one of move_bytes()
    Mask odd_inputs_;    // then: ports whose symbols are no bytes for the queue
    Mask odd_outputs_;   // and outputs at which something else than bytes is on its way
    std::int64_t now_ = 0;
    Flow flow_;
    bool reset_next_ = false;
    std::uint8_t owners_[MOST_PORTS] = {};   // input connected to each output
    std::uint8_t lockers_[MOST_PORTS] = {};
};

}  // namespace nectar::fast
