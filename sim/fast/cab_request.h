// An access inside the fast CAB.
#pragma once

#include <cstdint>

#include "nectar_numbers.h"

namespace nectar::fast {

// What is asked of the bus, by the CPU or by VME; bit 3 of `select` is the byte at the word's own address.
struct BusRequest {
    std::uint32_t address = 0;
    std::uint32_t data = 0;
    std::uint8_t select = 0;
    bool write = false;
    bool kernel = false;
    bool execute = false;  // a read that is an instruction fetch

    cab::AccessKind kind() const {
        return write ? cab::AccessKind::WRITE : execute ? cab::AccessKind::EXECUTE : cab::AccessKind::READ;
    }
    cab::Right right() const { return write ? cab::WRITE : execute ? cab::EXECUTE : cab::READ; }
};

}  // namespace nectar::fast
