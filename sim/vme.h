// A node's end of its CAB's VME bus: turns what the node's CPU asks for into cycles of the bus, gives the bus to the
// CAB's DMA, and has the node's memory on it. docs/nodes.md.
#pragma once

#include <cstdint>

#include "board.h"
#include "nectar_numbers.h"
#include "node_memory.h"
#include "recorder.h"

namespace nectar {

class VmeBus {
  public:
    // Addresses from here on are no memory: a load acknowledges the highest interrupt that waits.
    static constexpr std::uint32_t ACKNOWLEDGE = region::VME;

    // `pins` are those of the board; its clock is the one in which the lines change.
    VmeBus(const VmePins& pins, std::int64_t period_ps);
    VmeBus(const VmeBus&) = delete;
    VmeBus& operator=(const VmeBus&) = delete;

    // What the node's CPU has for a bus: as a CAB's CPU bus, in requests of one word.
    CpuPins cpu();

    // Its cycles go to `recorder` (null: nowhere) as those of the masters `place`, the node, and `cab`.
    void records(Recorder* recorder, int place, int cab) {
        recorder_ = recorder && recorder->wants(EventGroup::BOARDS) ? recorder : nullptr;
        place_ = place;
        cab_ = cab;
    }

    // An edge: samples the board's outputs, answers the CPU, sets the board's inputs.
    void edge();

    // After the board's evaluation: the interrupt line as the CPU sees it at the next edge.
    void settle() { irq_ = *pins_.irq_pull != 0; }

    // The node has no power any more: its memory does not answer, and the bus is not granted.
    void fail() { memory_.fail(); }

    bool idle() const {
        return state_ == State::IDLE && !valid_ && !done_ && memory_.idle() && !granted_ && owner_ == Owner::NODE;
    }

  private:
    enum class State : std::uint8_t { IDLE, SETUP, ANSWER, RELEASE, NOBODY, NEAR };
    enum class Owner : std::uint8_t { NODE, CAB };

    void serve();
    void arbitrate();
    bool has_bus() const;
    void take();
    bool take_near();
    void begin();
    void strobe();
    void end(bool error);
    bool follows() const;
    void record(bool error);
    void record_cab(NodeMemory::Answer answer, bool write);

    VmePins pins_;
    NodeMemory memory_;
    Recorder* recorder_ = nullptr;
    int place_ = 0;
    int cab_ = 0;
    int setup_;     // edges, as docs/vme.md has them
    int skew_;
    int high_;
    int patience_;
    int park_;      // the bus is taken back from a CAB that does not use it
    int near_;      // of the node's own memory

    // The CPU's side.
    std::uint8_t valid_ = 0, ready_ = 0, write_ = 0, kernel_ = 0, select_ = 0, done_ = 0, error_ = 0, irq_ = 0;
    std::uint32_t address_ = 0, write_data_ = 0, read_data_ = 0, words_ = 0;

    State state_ = State::IDLE;
    int left_ = 0;
    int skewed_ = 0;

    // The arbiter.
    Owner owner_ = Owner::NODE;  // who has the bus, or had it last
    Owner last_ = Owner::NODE;   // who made the last cycle
    bool granted_ = false;       // a grant is out
    int ungranted_ = 0;          // edges of a grant that nobody takes
    int unused_ = 0;             // edges at which the CAB has the bus, and AS* is high
    std::int64_t cab_begun_ = 0;
    NodeMemory::Answer answer_ = NodeMemory::Answer::NONE;

    // The request at work.
    bool acknowledge_ = false;
    bool store_ = false;
    bool block_ = false;     // a block transfer is under way: AS* stays low
    std::uint32_t where_ = 0;
    std::uint32_t word_ = 0;
    unsigned wanted_ = 0;    // bytes that are still to be moved, as select
    unsigned moved_ = 0;     // of those the ones of the transfer under way
    unsigned level_ = 0;
    std::int64_t begun_ = 0;  // time at which the transfer under way began
};

}  // namespace nectar
