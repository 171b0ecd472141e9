// What goes over a board's fibers and its CPU's bus, in words: the string variables of a waveform file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nectar_numbers.h"

namespace nectar {

struct Board;

// One direction of a fiber, symbol by symbol. docs/engine.md, "Waveforms".
class Frames {
  public:
    void take(std::uint16_t symbol);

    std::string now;      // what is under way, or was last: "packet", "ready"
    std::string command;  // the last whole command or reply: "open P3, retry (HUB 1)"

  private:
    void take_byte(std::uint8_t byte);

    std::uint8_t bytes_[COMMAND_LENGTH - 1] = {};  // of the command or reply under way
    unsigned command_missing_ = 0;
    unsigned reply_missing_ = 0;
    std::uint8_t reply_[COMMAND_LENGTH - 1] = {};
    bool packet_ = false;
    std::uint64_t length_ = 0;  // bytes of the packet
};

// The string variables of all recorded boards.
class Captions {
  public:
    explicit Captions(const std::vector<Board*>& boards);

    // Puts the variables into the header of a VCD file, each into its board's scope.
    void declare(std::string& header) const;

    // The changes at `time`, as lines of VCD.
    const std::string& changes(std::int64_t time);

    // The time of the first symbol, or -1.
    std::int64_t first() const { return first_ps_; }

  private:
    struct Variable {
        std::string code;
        std::string text;
    };
    struct Direction {
        Frames frames;
        Variable now;
        Variable command;
    };
    struct Fiber {
        const std::uint16_t* rx_payload;
        const std::uint8_t* rx_valid;
        const std::uint16_t* tx_payload;
        const std::uint8_t* tx_valid;
        const std::uint8_t* tx_ready;
        int number;  // of the port; -1: the board's only one
        Direction rx;
        Direction tx;
    };
    struct Part {
        Board* board;
        std::vector<Fiber> fibers;
        Variable bus;
    };

    std::string new_code() { return "~~~~~" + std::to_string(variables_++); }
    void begin();
    void take(Direction& direction, std::uint16_t symbol, std::int64_t time);
    void look_at_bus(Part& part);
    void change(Variable& variable, const std::string& text);
    void write(const Variable& variable);

    std::vector<Part> parts_;
    std::string changes_;
    std::int64_t first_ps_ = -1;
    int variables_ = 0;
    bool begun_ = false;
};

}  // namespace nectar
