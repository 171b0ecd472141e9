// The record of events of a fast HUB. docs/monitor.md, "Record".
#pragma once

#include <cstdint>
#include <vector>

#include "mask.h"
#include "nectar_numbers.h"

namespace nectar::fast {

class HubRecord {
  public:
    bool running() const { return running_; }
    // Whether tick() changes anything.
    bool changes() const { return running_ || shown_[0] != events_.size(); }
    void start(std::int64_t now);
    void stop() { running_ = false; }
    void clear();

    // What happens in a cycle.
    void decision(hub::Event kind, unsigned input, unsigned output);
    void ends(Mask timed_out, Mask closed, Mask unlocked);

    // Writes what came in the cycle before. Call it in each cycle while it runs, before what happens is told.
    void tick(std::int64_t now);

    // A byte of the oldest event; 0 if there is none.
    std::uint8_t byte(unsigned place) const;
    void pop();

  private:
    struct Decision {
        hub::Event kind;
        std::uint8_t input;
        std::uint8_t output;
    };

    void write(hub::Event kind, unsigned input, unsigned output);

    bool running_ = false;
    bool lost_ = false;
    std::int64_t begin_ = 0;
    std::int64_t time_ = 0;
    std::int64_t high_ = 0;               // part of the time above its bits, as recorded last
    std::vector<Decision> decisions_;     // that wait, the oldest first
    Mask timed_out_;
    Mask closed_;
    Mask unlocked_;
    std::vector<std::uint64_t> events_;   // 40 bits each
    std::size_t first_ = 0;               // the oldest of them
    static constexpr unsigned DELAY = 4;  // cycles until one that was written can be read
    std::size_t shown_[DELAY + 1] = {};   // end of those that can be read, in this cycle and in the next ones
};

}  // namespace nectar::fast
