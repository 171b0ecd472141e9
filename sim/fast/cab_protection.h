// Memories and protection of the fast CAB. docs/cab.md, "Protection".
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

#include "cab_parts.h"

namespace nectar::fast {

constexpr std::uint32_t PAGE_MASK = (1u << cab::PAGE_BITS) - 1;

// Words of 32 bits, 0 at first; what was never touched takes no memory of the host.
class Memory {
  public:
    explicit Memory(std::uint32_t bytes) : words_(static_cast<std::uint32_t*>(std::calloc(bytes / 4, 4))) {
        if (!words_) throw std::bad_alloc();
    }
    std::uint32_t& operator[](std::uint32_t word) { return words_.get()[word]; }
    std::uint32_t operator[](std::uint32_t word) const { return words_.get()[word]; }
    const std::uint32_t* words() const { return words_.get(); }
    // Writes the bytes of `select`, whose bit 3 is the byte at the word's own address.
    void write(std::uint32_t word, std::uint32_t data, unsigned select) {
        constexpr std::uint32_t LANES[] = {0,          0xFF,       0xFF00,     0xFFFF,     0xFF0000,   0xFF00FF,
                                           0xFFFF00,   0xFFFFFF,   0xFF000000, 0xFF0000FF, 0xFF00FF00, 0xFF00FFFF,
                                           0xFFFF0000, 0xFFFF00FF, 0xFFFFFF00, 0xFFFFFFFF};
        const std::uint32_t mask = LANES[select & 0xF];
        std::uint32_t& kept = words_.get()[word];
        kept = (kept & ~mask) | (data & mask);
    }

  private:
    struct Free {
        void operator()(std::uint32_t* words) const { std::free(words); }
    };
    std::unique_ptr<std::uint32_t, Free> words_;
};

// Rights of pages, domains, the record of what was refused.
class Protection {
  public:
    Protection() : table_(region::PROTECTION_BYTES) {}

    // Whether the domain has the right `needed` on the page with that address.
    bool allows(unsigned domain, std::uint32_t address, unsigned needed) const {
        if (domain == cab::KERNEL) return true;
        const std::uint32_t byte = domain * cab::PAGES + (address >> cab::PAGE_BITS);
        return on >> domain & 1 && table_[byte / 4] >> (24 - 8 * (byte % 4)) & needed;
    }
    std::uint32_t word(std::uint32_t offset) const { return table_[offset / 4]; }
    void write(std::uint32_t offset, std::uint32_t data, unsigned select) {
        constexpr std::uint32_t RIGHTS = 0x07070707;
        table_.write(offset / 4, data & RIGHTS, select);
    }
    void record(std::uint32_t address, unsigned domain, cab::AccessKind kind, bool vme) {
        if (info) {
            if (get(reg::TRAP_INFO_LOST, info) < 0xFF) info += put(reg::TRAP_INFO_LOST, 1);
            return;
        }
        trap_address = address;
        info = put(reg::TRAP_INFO_VALID, 1) | put(reg::TRAP_INFO_KIND, static_cast<std::uint32_t>(kind)) |
               put(reg::TRAP_INFO_DOMAIN, domain) | put(reg::TRAP_INFO_VME, vme);
    }
    void forget() { trap_address = info = 0; }
    // All but the table.
    void reset() {
        current = cab::KERNEL;
        on = 0;
        forget();
    }

    std::uint8_t current = cab::KERNEL;  // the CPU's domain
    std::uint32_t on = 0;                // DOMAINS_ON
    std::uint32_t trap_address = 0;      // TRAP_ADDRESS, TRAP_INFO
    std::uint32_t info = 0;

  private:
    Memory table_;
};

}  // namespace nectar::fast
