// Small parts of the fast CAB: fields of registers, lists, checksums.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "nectar_numbers.h"

namespace nectar::fast {

constexpr std::uint32_t ADDRESS_MASK = (1u << cab::ADDRESS_BITS) - 1;

// A field's value at its place in a register's word, and back; `mask` as in nectar_numbers.h.
constexpr std::uint32_t put(std::uint32_t mask, std::uint32_t value) { return value * (mask & -mask); }
constexpr std::uint32_t get(std::uint32_t mask, std::uint32_t word) { return (word & mask) / (mask & -mask); }

// An area of data memory; its address counts from there.
struct Place {
    std::uint32_t address;
    std::uint32_t length;

    bool meets(const Place& other) const {
        return address < other.address + other.length && other.address < address + length;
    }
};

// A register's write in a cycle; address 0: there is none.
struct Write {
    std::uint32_t address = 0;
    std::uint32_t data = 0;
};

// A list of at most N entries; what is put in is there from the next cycle on. What a cycle does to it is decided by
// the level before: whoever takes and puts in the same cycle takes first.
template <typename T, unsigned N>
class List {
  public:
    unsigned level() const { return level_; }
    bool full() const { return level_ == N; }
    const T& front() const { return at_[head_]; }
    const T& at(unsigned n) const { return at_[(head_ + n) % N]; }
    T& at(unsigned n) { return at_[(head_ + n) % N]; }
    void pop() {
        head_ = head_ + 1 == N ? 0 : head_ + 1;
        --level_;
    }
    void push(const T& entry) {
        const unsigned tail = head_ + level_;
        at_[tail < N ? tail : tail - N] = entry;
        ++level_;
    }
    void clear() { head_ = level_ = 0; }

  private:
    std::array<T, N> at_{};
    unsigned head_ = 0;
    unsigned level_ = 0;
};

// CRC-32 of IEEE 802.3 of the bytes since begin().
class Crc32 {
  public:
    void begin() { rest_ = ~0u; }
    void add(std::uint8_t byte) { rest_ = rest_ >> 8 ^ TABLES[0][(rest_ ^ byte) & 0xFF]; }
    // Four bytes, the uppermost first.
    void add_word(std::uint32_t word) {
        const std::uint32_t first = rest_ ^ __builtin_bswap32(word);
        rest_ = TABLES[3][first & 0xFF] ^ TABLES[2][first >> 8 & 0xFF] ^ TABLES[1][first >> 16 & 0xFF] ^
                TABLES[0][first >> 24];
    }
    std::uint32_t value() const { return ~rest_; }

  private:
    static constexpr std::uint32_t POLYNOMIAL = 0xEDB88320;
    // What a byte does to the rest, with so many bytes of 0 behind it.
    static constexpr std::array<std::array<std::uint32_t, 256>, 4> TABLES = [] {
        std::array<std::array<std::uint32_t, 256>, 4> tables{};
        for (std::uint32_t n = 0; n < 256; ++n) {
            std::uint32_t rest = n;
            for (auto& table : tables) {
                for (int bit = 0; bit < 8; ++bit) rest = rest >> 1 ^ (rest & 1 ? POLYNOMIAL : 0);
                table[n] = rest;
            }
        }
        return tables;
    }();
    std::uint32_t rest_ = ~0u;
};

// The Internet checksum of the bytes since begin().
class InternetSum {
  public:
    void begin() { total_ = odd_ = 0; }
    void add(std::uint8_t byte) {
        total_ += odd_ ? byte : byte << 8;
        total_ = (total_ & 0xFFFF) + (total_ >> 16);
        odd_ = !odd_;
    }
    // Four bytes, the uppermost first.
    void add_word(std::uint32_t word) {
        total_ += odd_ ? (word >> 24) + (word >> 8 & 0xFFFF) + ((word & 0xFF) << 8) : (word >> 16) + (word & 0xFFFF);
        total_ = (total_ & 0xFFFF) + (total_ >> 16);
        total_ = (total_ & 0xFFFF) + (total_ >> 16);
    }
    std::uint16_t value() const { return static_cast<std::uint16_t>(~total_); }

  private:
    std::uint32_t total_ = 0;
    bool odd_ = false;
};

}  // namespace nectar::fast
