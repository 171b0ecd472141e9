// A CAB's CPU: executes the operations of its software, clock edge by clock edge, as docs/door.md rules.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "board.h"
#include "nectar_numbers.h"
#include "port.h"
#include "recorder.h"

namespace nectar {

using Op = OperationKind;

struct Operation {
    Op kind;
    std::uint32_t address;
    std::uint32_t size;
    std::uint32_t more;   // of a NOTE: the upper half of its second word
    std::uint64_t value;  // of a WRITE_BLOCK: where its bytes begin in the level's data
};

// What the software must do before the processor can go on.
enum class Turn { NONE, RESUME, INTERRUPT, UNHANDLED, FAULT };

class Processor {
  public:
    CpuPins pins{};

    // What goes with the turn asked for last.
    int level = THREAD;
    Result result = Result::NOTHING;
    std::uint64_t number = 0;
    std::vector<std::uint8_t> bytes;
    std::uint32_t error_address = 0;
    bool error_write = false;
    const char* fault = "";

    // Its software's notes go to `recorder` (null: nowhere) as those of CPU `place`.
    void records(Recorder* recorder, int place) {
        recorder_ = recorder;
        place_ = place;
    }

    // The software is there; it starts at the next edge.
    void start(bool handler) {
        attached_ = handler;
        supervisor_ = false;
        state_ = State::NEW;
    }

    // The software's answer to RESUME or INTERRUPT: its operations; `data` are the bytes of its block writes.
    void give(const std::int64_t* words, std::size_t count, const std::uint8_t* data, std::size_t size);

    // Whether the software has an interrupt handler, and the operations that an interrupt begins with: if there are
    // any, the software's first turn is the RESUME behind the last of them.
    void attach(bool handler, const std::int64_t* words, std::size_t count);

    // The software is gone.
    void halt() {
        state_ = State::ENDED;
        *pins.valid = 0;
    }

    // Lets a wait of level 0 end, at the next edge or when it comes: as if a handler had run.
    void wake() { handled_ = true; }

    // An edge; `at` counts from the end of reset. If it returns a turn, proceed() must follow once that is done.
    Turn edge(std::int64_t at);
    Turn proceed();

    // The next edge at which there is something to do if the interrupt line stays as it is.
    std::int64_t due(std::int64_t at) const {
        switch (state_) {
            case State::ABSENT:
            case State::ENDED: return NEVER;
            case State::SPEND: return *pins.irq && open() ? at + 1 : until_;
            case State::WAIT: return handled_ || (*pins.irq && open()) ? at + 1 : NEVER;
            default: return at + 1;
        }
    }

    // Whether it handles an interrupt, and hears of no other; whether accesses are made in the kernel's domain.
    bool handles() const { return level == INTERRUPT && state_ != State::ENDED; }
    bool kernel() const { return level == INTERRUPT || supervisor_; }
    // At how many edges, at least, behind the one at `at` software must be told of something, a handler returns, or an
    // access begins that lets(operation) refuses; NEVER if the CPU waits. lets() is asked for the access under way and
    // those that follow, in their order. The interrupt line stays as it is. More than `most` edges are not looked for.
    template <typename Lets>
    std::int64_t foresee(std::int64_t at, std::int64_t most, Lets lets) const {
        const bool interrupted = *pins.irq && open();
        const Queue& queue = queues_[level];
        std::int64_t edges = 1;
        bool writes = queue.failed;
        switch (state_) {
            case State::ACCESS:
                if (!lets(access_)) return 1;
                if (taken_ < words_) edges = words_ - taken_ + ANSWER;
                writes |= !awaited(access_.kind);
                if (awaited(access_.kind)) return edges;
                break;
            case State::SPEND: edges = until_ - at; break;
            default: return due(at) == NEVER ? NEVER : 1;
        }
        if (interrupted) return state_ == State::SPEND ? 1 : edges;
        for (std::size_t next = queue.next; next < queue.operations.size() && edges <= most; ++next) {
            const Operation& operation = queue.operations[next];
            if (operation.kind == Op::SPEND) {
                edges += static_cast<std::int64_t>(operation.value);
            } else if (is_access(operation.kind)) {
                // Behind a write that failed, software is told of it instead.
                if ((writes && awaited(operation.kind)) || !lets(operation)) break;
                edges += edges_of(operation);
                if (awaited(operation.kind)) break;
                writes = true;
            } else if (operation.kind != Op::NOTE || recorder_) {
                break;
            }
        }
        return edges;
    }

    // At how many edges more, at least, if not at `most`, accesses are under way, one behind the other.
    std::int64_t busy(std::int64_t most) const {
        if (state_ != State::ACCESS) return 0;
        std::int64_t edges = taken_ < words_ ? words_ - taken_ + ANSWER : 1;
        const Queue& queue = queues_[level];
        for (std::size_t next = queue.next; next < queue.operations.size() && edges < most; ++next) {
            if (!is_access(queue.operations[next].kind)) break;
            edges += edges_of(queue.operations[next]);
        }
        return std::min(edges, most);
    }

    // A block access, for a board that does words of it by itself (docs/naps.md). Words count from 0.
    struct Word {
        std::uint32_t address;
        std::uint32_t data;
        std::uint8_t select;
    };
    // Whether one is under way. Then: the words that it has, that the board has taken, that it has answered; where it
    // goes; what is driven for a word.
    bool moves_block() const { return state_ == State::ACCESS && is_block(access_.kind); }
    std::uint32_t words() const { return words_; }
    std::uint32_t taken() const { return taken_; }
    std::uint32_t answered() const { return answered_; }
    const Operation& access() const { return access_; }
    static std::uint32_t words_of(const Operation& block) {
        return (((block.address + block.size + 3) & ~3u) - (block.address & ~3u)) / 4;
    }
    Word word(std::uint32_t number) const;
    // Takes what was read of any word of a block.
    void keep(std::uint32_t number, std::uint32_t data);
    // Of the words of a block that are whole, all but the first and the last: what is written; and takes what was read,
    // before or when they are answered.
    std::uint32_t whole(std::uint32_t number) const {
        const std::uint8_t* from = queues_[level].data.data() + access_.value + (4 * number - (access_.address & 3));
        return std::uint32_t{from[0]} << 24 | from[1] << 16 | from[2] << 8 | from[3];
    }
    void keep_whole(std::uint32_t number, std::uint32_t data) {
        std::uint8_t* to = bytes.data() + (4 * number - (access_.address & 3));
        to[0] = static_cast<std::uint8_t>(data >> 24);
        to[1] = static_cast<std::uint8_t>(data >> 16);
        to[2] = static_cast<std::uint8_t>(data >> 8);
        to[3] = static_cast<std::uint8_t>(data);
    }
    // The board has answered the next word, read as `data`, without an error; so many words that are kept already; it
    // has taken all words before `taken`.
    void answer(std::uint32_t data) {
        keep(answered_, data);
        word_ = data;
        ++answered_;
    }
    void answer_kept(std::uint32_t words) { answered_ += words; }
    void take(std::uint32_t taken) {
        taken_ = taken;
        drive();
    }

  private:
    enum class State : std::uint8_t { ABSENT, NEW, FETCH, ACCESS, SPEND, WAIT, ENDED };

    // Edges from the one at which a word is taken to the one at which it is answered, at least; of a whole access.
    static constexpr std::int64_t ANSWER = 3;
    static std::int64_t edges_of(const Operation& access) {
        if (access.kind == Op::READ_BLOCK && !access.size) return 0;
        const std::uint32_t words = is_block(access.kind) ? words_of(access) : 1;
        return words ? words + ANSWER : 1;
    }

    static bool is_access(Op kind) {
        return kind == Op::READ || kind == Op::WRITE || kind == Op::READ_BLOCK || kind == Op::WRITE_BLOCK;
    }
    // Whether the software awaits this operation's result.
    static bool awaited(Op kind) { return kind >= Op::READ && kind < Op::RETURN; }
    static bool is_block(Op kind) { return kind == Op::READ_BLOCK || kind == Op::WRITE_BLOCK; }

    struct Queue {
        std::vector<Operation> operations;
        std::vector<std::uint8_t> data;
        std::size_t next = 0;
        bool failed = false;  // an access was refused and the software has not heard of it
        std::uint32_t error_address = 0;
        bool error_write = false;
    };

    bool open() const { return level == THREAD && !masked_ && attached_; }
    Turn fetch();
    Turn resume(Result what, std::uint64_t value = 0);
    bool report();
    void begin(const Operation& operation);
    void drive();
    void respond();
    Turn finish();
    Turn fail(const char* text);

    Recorder* recorder_ = nullptr;
    int place_ = 0;
    State state_ = State::ABSENT;
    bool attached_ = false;
    bool masked_ = false;
    bool supervisor_ = false;  // mode of level 0
    bool handled_ = false;  // a handler has run since level 0 was last resumed
    bool irq_ = false;      // the interrupt line as sampled, until it has been looked at
    std::int64_t at_ = 0;
    std::int64_t until_ = 0;  // edge at which the spend under way ends
    State saved_ = State::FETCH;
    std::int64_t left_ = 0;  // what an interrupted spend has left
    Queue queues_[2];
    std::vector<Operation> first_;  // what an interrupt begins with

    // The access under way.
    Operation access_{};
    std::uint32_t words_ = 0;
    std::uint32_t taken_ = 0;
    std::uint32_t answered_ = 0;
    std::uint32_t word_ = 0;
};

}  // namespace nectar
