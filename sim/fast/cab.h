// The fast CAB: what docs/cab.md specifies, evaluated once for each edge of its clock.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "board.h"
#include "cab_flow.h"
#include "cab_in.h"
#include "cab_interrupts.h"
#include "cab_out.h"
#include "cab_protection.h"
#include "cab_request.h"
#include "cab_timers.h"
#include "cab_vme.h"

namespace nectar::fast {

class Cab : public Napper {
  public:
    // `vme`: the board has a VME interface.
    explicit Cab(bool vme);
    Cab(const Cab&) = delete;
    Cab& operator=(const Cab&) = delete;

    // Says where the pins are, and sets the inputs at rest.
    void connect(Pins& pins);
    // A rising edge of the clock.
    void edge();

    Rest rest(const Processor& cpu, std::int64_t at) const override;
    std::size_t ahead(std::uint16_t* symbols, std::size_t most) const override;
    bool minds(std::uint32_t address, std::uint32_t data) const override;
    std::int64_t catch_up(Port& port, Processor& cpu, std::int64_t before, std::int64_t time, std::int64_t period,
                          std::int64_t edges, std::int64_t& awake) override;

  private:
    // The inputs as they were given before an edge: they count from the next edge on.
    struct Inputs {
        std::uint8_t rst = 1, valid = 0, write = 0, kernel = 0, select = 0, rx_valid = 0, tx_ready = 1;
        std::uint16_t rx_payload = 0;
        std::uint32_t address = 0, write_data = 0;
    };
    // Where an access goes.
    enum class Target : std::uint8_t { NOTHING, DATA, PROGRAM, PROM, REGISTERS, TABLE, WINDOW };
    // An access under way.
    struct Work {
        BusRequest request;
        Target target = Target::NOTHING;
        bool allowed = false;
        std::uint8_t domain = 0;
        bool vme = false;       // VME's
        bool settles = false;  // the access behind it has to find what it has done
        std::uint32_t table = 0;
    };
    // The look-up of all pages of an area, one in a cycle.
    struct Walk {
        enum class State : std::uint8_t { ABSENT, BEGINS, RUNS } state = State::ABSENT;
        bool refused = false;       // the area's owner refuses it
        bool denied = false;        // a page is forbidden, from this address on:
        std::uint32_t address = 0;
        unsigned left = 0;          // cycles
    };

    // The users of data memory, by their slots, as bits.
    static constexpr unsigned FIBER_IN = 1, FIBER_OUT = 2, VME = 4, CPU = 8;

    class BlockRun;
    class BusFlow;
    // At the end of an edge: whether the fiber takes a symbol at the next one; the symbol that has arrived, or -1;
    // whether nothing happens any more.
    struct Wire {
        bool ready;
        int symbol;
        bool idle;
    };
    // flow() takes at least so many edges.
    static constexpr std::int32_t LEAST_FLOW = 6;

    // What an access of the CPU in a nap depends on: it is not interrupted, bytes are sent, it has all rights; what
    // RX_ADDRESS will be.
    struct Prospect {
        bool handles, sends, kernel;
        std::uint32_t rx_address;
    };
    bool spares(const Operation& access, Prospect& prospect) const;
    bool spares(std::uint32_t address, std::uint32_t data, Prospect& prospect) const;
    bool stores_what_it_sends() const;
    bool stores_where_it_sends(std::uint32_t address, std::uint32_t length) const;
    bool symbols_arrive(std::uint16_t least) const;
    bool may_move(const Place& place, bool writes, bool kernel) const;
    bool bus_rests() const;
    std::int64_t apart(const Processor& cpu, std::int64_t at, std::int64_t most, bool& lists) const;
    bool is_apart(const Operation& access, bool& lists) const;
    std::int32_t flow(Port& port, Processor& cpu, std::int64_t before, Wire& wire, Edges edges);
    bool pass(Port& port, Wire& wire, std::int64_t time, std::int64_t period);
    void stream(const Inputs& in);
    void take_pins();
    void take_access();
    void find_streams();
    void edge_of_bus(bool given);
    void reset();
    void begin(const BusRequest& request, bool vme);
    bool work(const Inputs& in, bool given);
    bool next(const Inputs& in, bool free);
    void respond(std::uint32_t& raised);
    bool answer(std::uint32_t& data);
    bool make(bool given);
    bool walk();
    std::uint32_t area_address(std::uint32_t address) const;
    void look_up();
    bool refuses(std::uint32_t address, std::uint32_t data) const;
    bool load(std::uint32_t address, std::uint32_t& data);
    std::optional<std::uint32_t> value(std::uint32_t address) const;
    bool store(std::uint32_t address, std::uint32_t data);
    void write_kernel();
    static unsigned arbitrate(unsigned wants, std::uint32_t slot);
    bool inside(std::uint32_t address, std::uint32_t length) const {
        return !length || (address >= region::DATA && address < region::DATA + region::DATA_BYTES &&
                           address - region::DATA + length <= region::DATA_BYTES);
    }
    bool count_errors(const Errors& errors);
    std::uint32_t states() const { return in_.states(); }

    // The pins.
    std::uint8_t clk_ = 0, idle_ = 1, ready_ = 1, done_ = 0, error_ = 0, irq_ = 0;
    std::uint32_t read_data_ = 0, slept_ = 0;
    Inputs pins_;

    // The bus.
    Inputs held_;
    bool quiet_ = false;       // nothing but the time changes at an edge without input
    bool streams_ = false;     // nothing but fiber and time change anything at an edge without access
    bool resetting_ = false;
    bool spare_held_ = false;  // an access waits here, and not at the pins
    BusRequest spare_;
    bool at_work_ = false;     // the memories are asked
    Work work_;
    bool turn_ = false;        // VME's, if CPU and VME both want something
    Walk walk_;
    bool settling_ = false;
    bool ended_ = false;       // its effect comes in this cycle
    Work last_;
    std::uint32_t word_ = 0;   // that it has read
    bool last_failed_ = false; // its area is refused
    Write write_;              // of a register in this cycle
    std::uint32_t read_ = 0;   // the register that is read in this cycle
    std::uint32_t slot_ = 0;
    bool stored_ = false;      // a word is being written to data memory

    Memory data_, program_;
    Protection protection_;
    FiberOut out_;
    FiberIn in_;
    Timers timers_;
    Interrupts interrupts_;
    std::uint8_t errors_[4] = {};
    std::unique_ptr<Vme> vme_;  // null: there is none
};

}  // namespace nectar::fast
