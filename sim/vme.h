// A node's end of its CAB's VME bus: turns what the node's CPU asks for into cycles of the bus. docs/nodes.md.
#pragma once

#include <cstdint>

#include "board.h"
#include "nectar_numbers.h"
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

    // Its cycles go to `recorder` (null: nowhere) as those of master `place`.
    void records(Recorder* recorder, int place) {
        recorder_ = recorder && recorder->wants(EventGroup::BOARDS) ? recorder : nullptr;
        place_ = place;
    }

    // An edge: samples the board's outputs, answers the CPU, sets the board's inputs.
    void edge();

    // After the board's evaluation: the interrupt line as the CPU sees it at the next edge.
    void settle() { irq_ = *pins_.irq_pull != 0; }

    bool idle() const { return state_ == State::IDLE && !valid_ && !done_; }

  private:
    enum class State : std::uint8_t { IDLE, SETUP, ANSWER, RELEASE, NOBODY };

    void take();
    void begin();
    void strobe();
    void end(bool error);
    bool follows() const;
    void record(bool error);

    VmePins pins_;
    Recorder* recorder_ = nullptr;
    int place_ = 0;
    int setup_;     // edges, as docs/vme.md has them
    int skew_;
    int high_;
    int patience_;

    // The CPU's side.
    std::uint8_t valid_ = 0, ready_ = 0, write_ = 0, kernel_ = 0, select_ = 0, done_ = 0, error_ = 0, irq_ = 0;
    std::uint32_t address_ = 0, write_data_ = 0, read_data_ = 0, words_ = 0;

    State state_ = State::IDLE;
    int left_ = 0;
    int skewed_ = 0;
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
