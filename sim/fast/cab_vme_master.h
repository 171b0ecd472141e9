// The VME master of the fast CAB: requester, transfers on the bus, the way of the CPU's window to the bus, and the DMA
// channel. docs/vme.md, "Master and requester", "DMA channel".
#pragma once

#include <cstdint>

#include "cab_parts.h"
#include "cab_request.h"
#include "cab_vme_align.h"

namespace nectar::fast {

// Of an address modifier: the bits that tell what is transferred, and what they tell.
constexpr std::uint8_t AM_KIND = 3, AM_DATA = 1, AM_PROGRAM = 2, AM_BLOCK = 3;

// Lines that several drive. They go by two flip-flops.
struct VmeLines {
    std::uint8_t as_n = 1, ds_n = 3, iackin_n = 1, dtack_n = 1, berr_n = 1, br_n = 0xF, bgin_n = 0xF;
    bool low() const { return !as_n || ds_n != 3 || !iackin_n; }
    bool asks() const { return !as_n && ds_n != 3; }
    bool free() const { return dtack_n && berr_n; }
};

// Lines that the master drives; released, AS* and the strobes are 1.
struct VmeDriven {
    std::uint8_t as_n = 1, ds_n = 3, write_n = 1, lword_n = 1, am = 0, drive = 0, bbsy = 0, br = 0;
    std::uint32_t address = 0, data = 0;
};

// The requester: gets the bus for the master, and gives it up when somebody else wants it.
class VmeRequester {
  public:
    // `seen`: the lines behind their synchronisers; `bgin_n`: the line itself.
    void edge(const VmeLines& seen, std::uint8_t bgin_n, bool wanted, VmeDriven& driven);
    bool owns() const { return owner_; }
    // Nothing is under way, and nothing will be by itself.
    bool rests() const { return state_ == State::IDLE && !unseen_ && !onward_ && !onward_first_ && !onward_seen_; }

  private:
    enum class State : std::uint8_t { IDLE, REQUEST, TAKE, OWN };
    static constexpr std::uint8_t OURS = 1;  // level

    State state_ = State::IDLE;
    bool owner_ = false;
    // A grant that was not asked for goes on; the cycles until this has been seen.
    bool onward_ = false, onward_first_ = false, onward_seen_ = false;
    unsigned unseen_ = 0;
};

class VmeMaster {
  public:
    // An edge. `seen`: lines behind their synchronisers; `bgin_n`, `data`: lines as they are. `given`: the memory is
    // given for the word that is wanted, which is `word` if it is read. Returns the interrupts that happen in it.
    std::uint32_t edge(const Write& write, const VmeLines& seen, std::uint8_t bgin_n, std::uint32_t data, bool given,
                       std::uint32_t word);
    void reset();

    // In a cycle: a word of an area is wanted; it is to be written.
    bool wants() const { return reads() || writes(); }
    bool writes() const {
        const unsigned count = near_count();
        return busy_ && !job_.sends && count && align_.level() >= count;
    }
    std::uint32_t word() const { return near_ / WORD; }
    std::uint8_t select() const {
        return static_cast<std::uint8_t>((0xFu >> near_ % WORD) & ~(0xFu >> (near_ % WORD + near_count())));
    }
    std::uint32_t stored() const { return align_.word(near_ % WORD); }

    // From this cycle on an access of the CPU waits for the bus.
    void park(const BusRequest& request);
    bool parks() const { return parked_; }
    // In the cycle that was: the access has been answered.
    bool answers() const { return answers_; }
    bool failed() const { return window_failed_; }
    std::uint32_t read_data() const { return window_data_; }

    bool idle() const {
        return !busy_ && !entries_.level() && !parked_ && !requester_.owns() &&
               (state_ == State::IDLE || state_ == State::GIVE);
    }
    // An entry is being worked on: 1, else 0.
    const std::uint8_t* working() const { return &busy_; }
    const VmeDriven& driven() const { return driven_; }

    // Its registers: whether there is one that can be read, or written; whether an entry is refused; what it holds.
    static bool has(std::uint32_t address, bool to_write);
    bool refuses() const { return entries_.full() || result_; }
    std::uint32_t load(std::uint32_t address) const;

    std::uint32_t address = 0;  // VD_ADDRESS

  private:
    static constexpr unsigned WORD = 4;  // bytes
    static constexpr auto GRANT = static_cast<unsigned>(vme::GRANT_PS / prototype::CAB_PERIOD_PS);
    static constexpr auto TIMEOUT = static_cast<unsigned>(vme::TIMEOUT_PS / prototype::CAB_PERIOD_PS);

    // An entry of the list.
    struct Job {
        std::uint32_t near, far, length;
        std::uint8_t modifier;
        bool half, sends, notifies;
    };
    // A transfer that is asked for.
    struct Ask {
        bool valid, first, last, write, finish;
        std::uint8_t modifier;
        unsigned bytes;
        std::uint32_t address, data;
    };
    enum class Asker : std::uint8_t { DMA, WINDOW };
    enum class State : std::uint8_t { IDLE, ADDRESS, STROBE, TRANSFER, BETWEEN, END, GIVE };

    bool reads() const {
        return busy_ && job_.sends && !ends_ && near_left_ && !reading_ && align_.level() <= Align::HELD - WORD;
    }
    unsigned near_count() const;
    unsigned far_bytes() const;
    bool window_possible() const;
    Ask dma_ask() const;
    Ask window_ask() const;
    Asker chosen(const Ask& dma, const Ask& window) const;
    bool may_begin(const VmeLines& seen) const;
    bool takes(const Ask& ask, const VmeLines& seen) const;
    void transfer(const Ask& ask, const VmeLines& seen, std::uint32_t data);
    void end();
    void share(const Ask& ask, Asker who, bool over, bool ready);
    void answer_window(bool over, bool ready);
    std::uint32_t work(const Write& write, bool over, const Ask& ask, bool ready, bool given, std::uint32_t word);
    void move(bool good, const Ask& ask, bool ready, bool given, std::uint32_t word);
    void start();
    void enter(const Write& write);

    VmeRequester requester_;
    VmeDriven driven_;

    // The transfer under way.
    State state_ = State::IDLE;
    unsigned left_ = 0;    // cycles that are waited at most
    unsigned setup_ = 0;   // cycles from the lines to the strobes
    std::uint8_t strobe_ = 0;
    bool wide_ = false, last_ = false;
    bool done_ = false, berr_ = false, timeout_ = false;
    std::uint32_t read_data_ = 0;

    // Whose it is.
    Asker turn_ = Asker::DMA;
    bool held_ = false, flies_ = false, last_asked_ = false;

    // The window.
    BusRequest parked_request_;
    bool parked_ = false, taken_ = false, answers_ = false, window_failed_ = false;
    std::uint32_t window_ = 0, window_data_ = 0;

    // The list, and the entry at work.
    List<Job, cab::VME_LIST_DEPTH> entries_;
    Job job_{};
    Align align_;
    std::uint8_t busy_ = 0;
    bool ends_ = false, stopped_ = false, cut_berr_ = false, cut_timeout_ = false, flying_ = false, inside_ = false;
    bool reading_ = false;
    unsigned read_first_ = 0, read_count_ = 0, flying_bytes_ = 0, flying_first_ = 0;
    std::uint32_t read_word_ = 0;
    std::uint32_t near_ = 0, near_left_ = 0, far_ = 0, far_left_ = 0;
    std::uint32_t arrived_ = 0, arrived_before_ = 0;
    std::uint8_t counted_ = 0;
    std::uint32_t result_ = 0, remote_ = 0, threshold_ = 0;
};

}  // namespace nectar::fast
