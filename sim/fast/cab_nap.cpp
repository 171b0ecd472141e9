// What a fast CAB will do at its next edges if it is left alone. docs/naps.md.
#include "cab.h"
#include "port.h"
#include "processor.h"

#include <algorithm>
#include <cstddef>

namespace nectar::fast {

namespace {

bool within(const Place& place, std::uint32_t base, std::uint32_t bytes) {
    return place.address >= base && place.address - base + place.length <= bytes;
}

}  // namespace

Cab::Rest Cab::rest(const Processor& cpu, std::int64_t at) const {
    if (!timers_.rests() || held_.rst || pins_.rst || resetting_ || vme_) return {};
    if (!out_.idle && !out_.runs()) return {};
    Rest rest;
    rest.sends = !out_.idle;
    // While it handles an interrupt nothing that arrives is heard of. A ready signal may let something be sent.
    rest.takes_bytes = rest.takes_controls = cpu.handles() && (rest.sends || !out_.waits());
    // A nap of more edges saves no more.
    constexpr std::int64_t MOST = 1024;
    std::int64_t calm = NEVER;
    if (!rest.takes_controls) {
        if (symbols_arrive(CONTROL_BIT)) return {};
        calm = in_.calm(rest.takes_bytes);
        if (!rest.takes_bytes && symbols_arrive(0)) return {};
    }
    Prospect prospect{rest.takes_controls, rest.sends, cpu.kernel(), in_.scatter.address};
    const auto lets = [&](const Operation& access) { return spares(access, prospect); };
    rest.edges = std::min(calm, cpu.foresee(at, MOST, lets));
    // An area may not be read while a packet is stored in it.
    if (rest.edges < LEAST_FLOW || (rest.sends && stores_what_it_sends())) return {};
    return rest;
}

// Whether a symbol that is not less than `least` is at the pins, or behind them.
bool Cab::symbols_arrive(std::uint16_t least) const {
    return (held_.rx_valid && held_.rx_payload >= least) || (pins_.rx_valid && pins_.rx_payload >= least);
}

// Whether the CPU has the right to all words of a place in a memory.
bool Cab::may_move(const Place& place, bool writes, bool kernel) const {
    if (!within(place, region::DATA, region::DATA_BYTES) && !within(place, region::PROGRAM, region::PROGRAM_BYTES)) {
        return false;
    }
    const unsigned domain = kernel ? cab::KERNEL : protection_.current;
    const cab::Right right = writes ? cab::WRITE : cab::READ;
    for (std::uint32_t at = place.address; at < place.address + place.length; at = (at | PAGE_MASK) + 1) {
        if (!protection_.allows(domain, at, right)) return false;
    }
    return true;
}

// Whether an access of the CPU, which may come in a nap, changes nothing of Rest.
bool Cab::spares(const Operation& access, Prospect& prospect) const {
    const bool writes = access.kind == Op::WRITE || access.kind == Op::WRITE_BLOCK;
    const bool block = access.kind == Op::READ_BLOCK || access.kind == Op::WRITE_BLOCK;
    const Place place{access.address & ~3u, block ? 4 * Processor::words_of(access) : 4};
    if (place.address - region::REGISTERS >= region::REGISTERS_BYTES) {
        const bool meets = writes && prospect.sends && out_.reads({place.address - region::DATA, place.length});
        return !meets && may_move(place, writes, prospect.kernel);
    }
    if (!prospect.kernel && protection_.current != cab::KERNEL) return false;
    if (!writes) return prospect.handles || !(place.meets({reg::REPLY, 4}) || place.meets({reg::RX_QUEUE, 4}));
    return !block && spares(place.address, static_cast<std::uint32_t>(access.value), prospect);
}

// The same of a register that is written.
bool Cab::spares(std::uint32_t address, std::uint32_t data, Prospect& prospect) const {
    switch (address) {
        case reg::TX_ADDRESS:
        case reg::IRQ_PENDING: return true;
        case reg::RX_ADDRESS: prospect.rx_address = data & ADDRESS_MASK; return true;
        case reg::TX_COMMAND:
        case reg::TX_SYMBOL:
        case reg::TX_AREA: return prospect.sends;
        case reg::RX_AREA:
        case reg::RX_START:
            return prospect.handles && !(prospect.sends && stores_where_it_sends(prospect.rx_address, data));
        case reg::IRQ_ENABLE:
        case reg::IRQ_LEVEL0:
        case reg::IRQ_LEVEL1:
        case reg::IRQ_THRESHOLD:
        case reg::RX_RELEASE: return prospect.handles;
        default: return false;
    }
}

// Whether a packet may be stored where one is sent from.
bool Cab::stores_what_it_sends() const {
    return out_.any_area([&](const Place& area) { return in_.stores_at(area); });
}

// Whether an area that RX_AREA or RX_START names has words of one that is sent.
bool Cab::stores_where_it_sends(std::uint32_t address, std::uint32_t length) const {
    return out_.reads({(address - region::DATA) & ~3u, (length & reg::RX_AREA_LENGTH) + 7});
}

std::size_t Cab::ahead(std::uint16_t* symbols, std::size_t most) const {
    return out_.ahead(data_.words(), symbols, most);
}

bool Cab::minds(std::uint32_t address, std::uint32_t data) const {
    address &= ~3u;
    if (address - region::DATA < region::DATA_BYTES) return out_.reads({address - region::DATA, 4});
    if (address - region::PROGRAM < region::PROGRAM_BYTES) return false;
    Prospect prospect{true, true, true, in_.scatter.address};
    return !spares(address, data, prospect);
}

// For how many edges nothing happens that a CPU would hear of, unless a control code arrives; `bytes`: bytes may.
std::uint32_t FiberIn::calm(bool& bytes) const {
    constexpr std::uint32_t MARGIN = 8;
    bytes = false;
    if (symbol_ >= CONTROL_BIT || (reply_left_ | command_left_)) return 0;
    if (level + MARGIN >= QUEUE_SYMBOLS) return 0;
    const std::uint32_t room = QUEUE_SYMBOLS - MARGIN - level;
    std::uint32_t edges = room;
    switch (state_) {
        case State::CLOSED:
            bytes = next_waits();
            return bytes || rests_ ? room : 0;
        case State::WAIT: bytes = true; return room;
        case State::HEADER:
            edges = std::min<std::uint32_t>(edges, cab::HEADER_BYTES - 1 - header_count_);
            break;
        case State::BODY:
            if (ended_ || discarded_) return 0;
            if (threshold > stored_) edges = std::min(edges, threshold - stored_ - 1);
            break;
        default: return 0;
    }
    for (std::uint32_t n = 0; marks_ && n < level && n < edges; ++n) {
        if (ring_[(head_ + n) % RING] >= CONTROL_BIT) edges = n;
    }
    bytes = true;
    return edges;
}

// Whether the next packet waits for software to take the last one.
bool FiberIn::next_waits() const {
    return received_ && !(mode & reg::RX_MODE_DIRECT) && head_ != visible_ &&
           (ring_[head_ % RING] & 0x1FF) == static_cast<std::uint16_t>(Control::START);
}

// Whether a byte of the packet may be stored there.
bool FiberIn::stores_at(const Place& place) const {
    return place.length && (writer.stores_at(place) || scatter.stores_at(place));
}

}  // namespace nectar::fast
