// The registers of the fast CAB: docs/map.md.
#include "cab.h"

namespace nectar::fast {

namespace {

constexpr std::uint32_t power_of(std::uint32_t size) {
    std::uint32_t power = 0;
    while (size >>= 1) ++power;
    return power;
}

constexpr std::uint32_t CONFIG_WORD =
    put(reg::CONFIG_DATA, power_of(region::DATA_BYTES)) | put(reg::CONFIG_PROGRAM, power_of(region::PROGRAM_BYTES)) |
    put(reg::CONFIG_PAGES, power_of(cab::PAGES)) | put(reg::CONFIG_DOMAINS, power_of(cab::DOMAINS));

}  // namespace

// Reads the register at `address`, as it is in this cycle. False if there is none that can be read.
bool Cab::load(std::uint32_t address, std::uint32_t& data) {
    read_ = address;
    if (vme_ && Vme::has(address, false)) {
        data = vme_->load(address);
    } else if (Timers::has(address)) {
        data = timers_.time(address);
    } else {
        const std::optional<std::uint32_t> found = value(address);
        data = found.value_or(0);
        return found.has_value();
    }
    return true;
}

std::optional<std::uint32_t> Cab::value(std::uint32_t address) const {
    switch (address) {
        case reg::IRQ_PENDING: return interrupts_.pending(states());
        case reg::RX_RESULT: return in_.result();
        case reg::RX_HEADER0: return in_.header(0);
        case reg::RX_HEADER1: return in_.header(1);
        case reg::RX_HEADER2: return in_.header(2);
        case reg::RX_HEADER3: return in_.header(3);
        case reg::TX_STATUS: return out_.status();
        case reg::REPLY: return in_.reply();
        case reg::IRQ_ENABLE: return interrupts_.enable;
        case reg::ID: return cab::ID_VALUE;
        case reg::TIMER_NOW: return timers_.now();
        case reg::TX_ADDRESS: return out_.address;
        case reg::RX_ADDRESS: return in_.scatter.address;
        case reg::RX_STATUS: return in_.status();
        case reg::ERRORS:
            return put(reg::ERRORS_OVERRUN, errors_[0]) | put(reg::ERRORS_STRAY, errors_[1]) |
                   put(reg::ERRORS_FRAMING, errors_[2]) | put(reg::ERRORS_REPLY_LOST, errors_[3]);
        case reg::TX_PROGRESS: return out_.progress();
        case reg::TX_THRESHOLD: return out_.threshold;
        case reg::RX_PROGRESS: return in_.progress();
        case reg::RX_THRESHOLD: return in_.threshold;
        case reg::RX_MODE: return in_.mode;
        case reg::RX_QUEUE: return in_.oldest();
        case reg::RX_COUNT: return in_.count();
        case reg::TX_COUNT: return out_.taken();
        case reg::RX_SUM: return in_.sum();
        case reg::IRQ_VECTOR: return interrupts_.vector();
        case reg::IRQ_THRESHOLD: return interrupts_.threshold;
        case reg::IRQ_LEVEL0: return interrupts_.levels(0);
        case reg::IRQ_LEVEL1: return interrupts_.levels(1);
        case reg::CONFIG: return CONFIG_WORD | put(reg::CONFIG_VME, vme_ != nullptr);
        case reg::TIMER_FIRED: return timers_.fired();
        case reg::TIMER_ARMED: return timers_.armed();
        case reg::DOMAIN:
            return put(reg::DOMAIN_CURRENT, protection_.current) | put(reg::DOMAIN_VME, cab::DOMAINS - 1);
        case reg::DOMAINS_ON: return protection_.on;
        case reg::TRAP_ADDRESS: return protection_.trap_address;
        case reg::TRAP_INFO: return protection_.info;
        default: return std::nullopt;
    }
}

// Whether the register at `address`, which can be written, does not take `data` now.
bool Cab::refuses(std::uint32_t address, std::uint32_t data) const {
    switch (address) {
        case reg::TX_COMMAND:
        case reg::TX_SYMBOL: return out_.full();
        case reg::TX_AREA: return out_.full() || !inside(out_.address, data & reg::TX_AREA_LENGTH);
        case reg::RX_AREA:
            return in_.scatter.refuses_area() || !inside(in_.scatter.address, data & reg::RX_AREA_LENGTH);
        case reg::RX_START: return !in_.waits() || !inside(in_.scatter.address, data & reg::RX_START_LIMIT);
        case reg::RX_MODE:
            return get(reg::RX_MODE_CHECK, data) > cab::NONE || get(reg::RX_MODE_SKIP, data) > cab::HEADER_BYTES;
        case reg::VD_SEND:
        case reg::VD_FETCH:
            if (vme_ && !inside(vme_->master.address, data & reg::VD_SEND_LENGTH)) return true;
            [[fallthrough]];
        default: return vme_ && vme_->refuses(address, data);
    }
}

// Writes the register at `address` in this cycle. False if there is none that can be written, or it refuses.
bool Cab::store(std::uint32_t address, std::uint32_t data) {
    switch (address) {
        case reg::TX_COMMAND:
        case reg::TX_SYMBOL:
        case reg::TX_AREA:
        case reg::RX_AREA:
        case reg::RX_START:
        case reg::RX_MODE:
        case reg::IRQ_PENDING:
        case reg::IRQ_ENABLE:
        case reg::TIMER_STOP:
        case reg::TX_ADDRESS:
        case reg::TX_READY:
        case reg::TX_CONTROL:
        case reg::RX_ADDRESS:
        case reg::RX_RELEASE:
        case reg::RX_CONTROL:
        case reg::TX_THRESHOLD:
        case reg::RX_THRESHOLD:
        case reg::IRQ_THRESHOLD:
        case reg::IRQ_LEVEL0:
        case reg::IRQ_LEVEL1:
        case reg::TIMER_FIRED:
        case reg::DOMAIN:
        case reg::DOMAINS_ON:
        case reg::TRAP_INFO:
        case reg::RESET: break;
        default:
            if (!Timers::has(address) && !(vme_ && Vme::has(address, true))) return false;
    }
    if (refuses(address, data)) return false;
    write_ = {address, data};
    return true;
}

}  // namespace nectar::fast
