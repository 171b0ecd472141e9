// What the boards that Verilator has made need besides themselves: contexts, and waveforms if they are asked for. A
// library without such boards has none of it (no_rtl.cpp), and is built without Verilator.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

class VerilatedContext;

namespace nectar {

class Engine;
struct Board;

// Waveforms of some boards.
class Recording {
  public:
    virtual ~Recording() = default;

    // Whether the file could be opened.
    virtual bool good() const = 0;

    // Called before the edges at `time`. Does what comes earlier (the window's begin or end, a falling edge) and
    // returns true, or returns false.
    virtual bool before(Engine& engine, std::int64_t time, std::int64_t until) = 0;

    // The time at which the limit ended the recording, or -1.
    virtual std::int64_t full() const = 0;

    // The time of the first symbol on a fiber, or -1.
    virtual std::int64_t first() const = 0;

    // Returns 0, or errno when the file is not whole.
    virtual int close() = 0;
};

class Rtl {
  public:
    virtual ~Rtl() = default;

    // Verilator writes waveforms of all the models of a context: those to be recorded have one of their own.
    virtual VerilatedContext* context(bool recorded) = 0;

    // `boards` are all that were made with context(true). Recording ends when the file has `limit` bytes.
    virtual std::unique_ptr<Recording> record(const char* path, std::vector<Board*> boards, std::int64_t begin,
                                              std::int64_t end, std::int64_t limit) = 0;
};

// Null in a library without boards of Verilator's.
std::unique_ptr<Rtl> make_rtl();

// What Rtl::record gives; null in a library without waveforms (no_waves.cpp).
std::unique_ptr<Recording> make_waves(const char* path, VerilatedContext& context, std::vector<Board*> boards,
                                      std::int64_t begin, std::int64_t end, std::int64_t limit);

}  // namespace nectar
