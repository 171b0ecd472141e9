// VME of the fast CAB: the slave and the interrupter, as a node's bus reaches them, and the master. docs/vme.md.
#pragma once

#include <cstdint>

#include "board.h"
#include "cab_parts.h"
#include "cab_request.h"
#include "cab_vme_master.h"

namespace nectar::fast {

class Vme {
  public:
    void connect(VmePins& pins);

    // An edge. `taken`: the access that is wanted is taken in this cycle; `given`: the memory is given for the
    // master's word, `word` is what is read of it. Returns the interrupts that happen in it.
    std::uint32_t edge(const Write& write, bool taken, bool given, std::uint32_t word);
    void reset();
    // The answer to the access that was taken, to be seen from the next cycle on.
    void answer(std::uint32_t data, bool error) {
        answers_ = true;
        word_ = data;
        error_ = error;
    }

    // In a cycle: an access is wanted; no access of the CPU may begin.
    bool wants() const { return access_ == Access::WANTED; }
    const BusRequest& request() const { return request_; }
    bool locks() const { return locks_; }
    bool idle() const { return idle_ && master.idle(); }

    // Its registers: whether there is one that can be read, or written; whether it refuses a write; what it holds.
    static bool has(std::uint32_t address, bool to_write);
    bool refuses(std::uint32_t address, std::uint32_t data) const;
    std::uint32_t load(std::uint32_t address) const;

    VmeMaster master;

  private:
    // Where the slave is in a transfer: waits for strobes; looks at the address; wants the board's bus; the answer is
    // on its way; is on the lines.
    enum class State : std::uint8_t { WAITS, LOOKS, ASKS, ANSWERS, ANSWERED };
    // An access: there is none; it is wanted from the next cycle on; in this; it was taken, and is not answered yet.
    enum class Access : std::uint8_t { NONE, NEXT, WANTED, TAKEN };

    void follow(bool taken);
    void begin(bool over);
    void look_for(unsigned cycles);
    void read_ahead(Access access);
    void look();
    void pull(bool error);
    void end();
    bool waits() const;
    void acknowledge();
    void shift(const VmeLines& before);
    VmeLines on_lines() const;
    bool ours() const;
    bool in_data() const;
    std::uint8_t selected() const;
    std::uint32_t from_lines() const;
    void to_lines(std::uint32_t word);

    // The pins.
    VmeLines given_, held_, first_, second_;
    std::uint8_t write_n_ = 1, lword_n_ = 1, iack_n_ = 1, am_ = 0x3F;
    std::uint32_t address_ = 0x7FFFFFFF, data_ = 0xFFFFFFFF;
    std::uint8_t dtack_ = 0, berr_ = 0, irq_ = 0;
    std::uint32_t data_out_ = 0;  // the slave's
    std::uint32_t lines_out_ = 0;

    State state_ = State::WAITS;
    unsigned left_ = 0;       // cycles of LOOKS
    Access access_ = Access::NONE;
    BusRequest request_;
    std::uint32_t transfer_ = 0;  // address of the word that is being transferred
    bool fresh_ = true;         // the strobes have been asserted since they were last looked at
    bool acknowledges_ = false;  // LOOKS: at an interrupt acknowledgment of this board
    bool alive_ = false;  // the strobes have not been high since they were looked at
    bool answers_ = false, answered_ = false, error_ = false;
    std::uint32_t word_ = 0;  // that was read
    bool block_ = false;      // the cycle is a block
    bool later_ = false;      // a transfer of the block has been made
    bool ready_ = false;      // the next word has been read ahead
    bool failed_ = false;     // a write behind its answer was refused
    bool locks_ = false, unlocks_ = false;
    bool idle_ = true;

    std::uint8_t waiting_ = 0;    // levels that wait for an acknowledgment
    std::uint8_t taken_ = 0;      // the level that has got it in the cycle before
    std::uint8_t answering_ = 0;  // the level whose status/ID is on the lines
    std::uint8_t vectors_[vme::LEVELS + 1] = {};
};

}  // namespace nectar::fast
