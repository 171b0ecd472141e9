#include "cab_traffic.h"

namespace nectar {

namespace {

constexpr std::uint32_t REGISTERS[] = {
    reg::IRQ_PENDING, reg::RX_RESULT, reg::RX_HEADER0, reg::RX_HEADER1, reg::RX_HEADER2, reg::RX_HEADER3,
    reg::TX_STATUS, reg::REPLY, reg::IRQ_ENABLE, reg::ID, reg::TIMER_NOW, reg::TIMER_COMPARE, reg::TX_ADDRESS,
    reg::RX_ADDRESS, reg::RX_STATUS, reg::ERRORS, reg::TX_PROGRESS, reg::TX_THRESHOLD, reg::RX_PROGRESS,
    reg::RX_THRESHOLD, reg::RX_MODE, reg::RX_QUEUE, reg::RX_COUNT, reg::TX_COUNT, reg::RX_SUM, reg::IRQ_VECTOR,
    reg::IRQ_THRESHOLD, reg::IRQ_LEVEL0, reg::IRQ_LEVEL1, reg::CONFIG, reg::TIMER0_PERIOD, reg::TIMER3_COMPARE,
    reg::TIMER_FIRED, reg::TIMER_ARMED, reg::DOMAIN, reg::DOMAINS_ON, reg::TRAP_ADDRESS, reg::TRAP_INFO,
};

// The first register of timer n's: its compare value, and behind it its period.
std::uint32_t compare_of(unsigned timer) {
    return timer ? reg::TIMER1_COMPARE + 8 * (timer - 1) : reg::TIMER_COMPARE;
}
std::uint32_t period_of(unsigned timer) { return reg::TIMER0_PERIOD + 8 * timer; }

constexpr std::uint32_t put_field(std::uint32_t mask, std::uint32_t value) { return value * (mask & -mask); }

// Pages of the node's memory that are opened and closed.
constexpr std::uint32_t NODE_PAGES_USED = 3;
// Registers of VME's DMA channel.
constexpr std::uint32_t MASTER[] = {
    reg::VD_STATUS, reg::VD_ADDRESS, reg::VD_REMOTE, reg::VD_PROGRESS, reg::VD_THRESHOLD, reg::VD_RESULT,
};

constexpr unsigned DOMAINS_USED = 4;
constexpr std::uint32_t USED_BYTES = 8 << 10;  // of data memory, most of the time

std::uint32_t crc32(const std::vector<std::uint8_t>& bytes) {
    std::uint32_t rest = ~0u;
    for (const std::uint8_t byte : bytes) {
        rest ^= byte;
        for (int bit = 0; bit < 8; ++bit) rest = rest >> 1 ^ (rest & 1 ? 0xEDB88320u : 0);
    }
    return ~rest;
}

std::uint16_t internet(const std::vector<std::uint8_t>& bytes) {
    std::uint32_t sum = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i) sum += i % 2 ? bytes[i] : bytes[i] << 8;
    while (sum >> 16) sum = (sum & 0xFFFF) + (sum >> 16);
    return static_cast<std::uint16_t>(~sum);
}

}  // namespace

CabTraffic::CabTraffic(std::uint64_t seed, bool vme) : dice(seed), vme_(vme) {
    new_mood();
    if (vme) permit();
}

// VME's domain may use what is used.
void CabTraffic::permit() {
    constexpr std::uint32_t ALL = 0x07070707, TABLE = region::PROTECTION + ((cab::DOMAINS - 1) << 14);
    constexpr std::uint32_t PAGES = 4 << cab::PAGE_BITS;  // with rights in one word
    for (const std::uint32_t base : {region::DATA, region::PROGRAM, region::PROM}) {
        for (std::uint32_t at = base; at < base + USED_BYTES; at += PAGES) post(TABLE + (at >> cab::PAGE_BITS), ALL);
    }
    post(TABLE + (region::REGISTERS >> cab::PAGE_BITS), ALL);
    post(reg::DOMAINS_ON, 1u << (cab::DOMAINS - 1));
}

void CabTraffic::new_mood() {
    constexpr unsigned GAPS[] = {0, 1, 2, 3, 5, 30};
    for (unsigned& often : mood.actions) often = dice.once(2) ? 0 : 1 + dice.below(8);
    mood.symbol_gap = GAPS[dice.below(6)];
    mood.ready_pattern = dice.below(4);
    mood.access_gap = dice.once(3) ? 0 : dice.once(2) ? 1 + dice.below(6) : 10 + dice.below(60);
    mood.user = on_ && dice.once(3);
    mood.errors = dice.once(3);
    mood.sleeps = dice.once(2);
    mood.resets = dice.once(8);
    mood.node_gap = vme_ ? GAPS[dice.below(6)] * 4 : 0;
    mood.packet_bytes = dice.once(4) ? 1500 : dice.once(2) ? 200 : 40;
}

Access CabTraffic::next(std::uint32_t now) {
    while (queue_.empty()) act(now);
    const Access access = queue_.front();
    queue_.pop_front();
    return access;
}

void CabTraffic::answered(const Access& access, std::uint32_t data, bool error) {
    if (access.write || error) return;
    if (access.address == reg::IRQ_PENDING) receive(data);
    if (access.address == reg::VD_RESULT && data && !dice.once(8)) post(reg::VD_RESULT, 0);
}

// Data memory, where `length` bytes fit most of the time.
std::uint32_t CabTraffic::place(std::uint32_t length) {
    if (dice.once(60)) return dice.bits();
    if (dice.once(60)) return region::DATA + region::DATA_BYTES - dice.below(length + 8);
    return region::DATA + dice.below(USED_BYTES);
}

void CabTraffic::act(std::uint32_t now) {
    unsigned all = 1;
    for (const unsigned often : mood.actions) all += often;
    unsigned drawn = dice.below(all), chosen = 0;
    while (chosen < 12 && drawn >= mood.actions[chosen]) drawn -= mood.actions[chosen++];
    switch (chosen) {
        case 0:
        case 1: return send();
        case 2:
        case 3: return load(reg::IRQ_PENDING);
        case 4: return timers(now);
        case 5: return interrupts();
        case 6: return protect();
        case 7: return anywhere();
        case 8: return receive(dice.once(8) ? dice.bits() : 0);
        case 9: return load(REGISTERS[dice.below(std::size(REGISTERS))]);
        default: return memory();
    }
}

void CabTraffic::send() {
    switch (dice.below(16)) {
        case 0: return post(reg::TX_READY, 0);
        case 1: return post(reg::TX_SYMBOL, dice.once(3) ? 0x100 + dice.below(8) : dice.below(0x200));
        case 2:
        case 3:
            return post(reg::TX_COMMAND, (dice.bits() & ~reg::TX_COMMAND_WAIT_READY) |
                                             (dice.once(3) ? reg::TX_COMMAND_WAIT_READY : 0));
        case 4: return post(reg::TX_THRESHOLD, dice.below(60));
        case 5: return post(reg::TX_CONTROL, dice.once(4) ? dice.below(4) : reg::TX_CONTROL_SET_READY);
        case 6: return load(reg::TX_STATUS);
        case 7: return load(dice.once(2) ? reg::TX_PROGRESS : reg::TX_COUNT);
        default: break;
    }
    const unsigned areas = 1 + (dice.once(2) ? dice.below(4) : 0);
    for (unsigned n = 0; n < areas; ++n) {
        const std::uint32_t length = dice.once(20) ? dice.below(mood.packet_bytes) : dice.below(24);
        std::uint32_t flags = dice.once(2) ? reg::TX_AREA_NOTIFY : 0;
        if (n == 0) flags |= reg::TX_AREA_START;
        if (n + 1 == areas) flags |= reg::TX_AREA_END | (dice.once(3) ? 0 : reg::TX_AREA_CRC);
        if (dice.once(3)) flags |= reg::TX_AREA_INTERNET;
        if (dice.once(12)) flags = dice.bits() & 0xF8000000;
        post(reg::TX_ADDRESS, place(length));
        post(reg::TX_AREA, flags | length);
    }
}

void CabTraffic::receive(std::uint32_t pending) {
    if (pending & irq::REPLY && !dice.once(3)) load(reg::REPLY);
    if (pending & irq::RECEIVED && !dice.once(4)) {
        if (dice.once(2)) load(reg::RX_RESULT);
        if (dice.once(2)) load(reg::RX_SUM);
        post(reg::RX_RELEASE, dice.bits());
    }
    if (vme_ && pending & irq::VME_ERROR) load(reg::VD_RESULT);
    if (pending & irq::INPUT) {
        for (unsigned n = dice.below(20); n > 0; --n) load(reg::RX_QUEUE);
    }
    if (pending & irq::PACKET && !dice.once(8)) {
        load(reg::RX_HEADER0 + 4 * dice.below(4));
        for (unsigned n = dice.once(2) ? 0 : dice.below(6); n > 0; --n) {
            const std::uint32_t length = dice.once(3) ? dice.below(4) : dice.below(40);
            post(reg::RX_ADDRESS, place(length));
            post(reg::RX_AREA, length);
        }
        if (dice.once(10)) {
            post(reg::RX_CONTROL, reg::RX_CONTROL_DISCARD);
        } else {
            const std::uint32_t length = dice.once(2) ? mood.packet_bytes : dice.below(60);
            post(reg::RX_ADDRESS, place(length));
            post(reg::RX_START, length);
            if (dice.once(10)) post(reg::RX_CONTROL, reg::RX_CONTROL_DISCARD);
        }
    }
    if (pending) {
        if (dice.once(2)) post(reg::IRQ_PENDING, dice.once(2) ? pending : dice.bits());
        return;
    }
    switch (dice.below(12)) {
        case 0:
            check_ = dice.below(dice.once(6) ? 4 : 3);
            return post(reg::RX_MODE, check_ | (dice.once(6) ? reg::RX_MODE_DIRECT : 0) |
                                          put_field(reg::RX_MODE_SKIP, dice.below(dice.once(6) ? 32 : 17)));
        case 1: return post(reg::RX_THRESHOLD, dice.below(40));
        case 2: return post(reg::RX_CONTROL, dice.once(3) ? dice.below(4) : 0);
        case 3: return post(reg::RX_AREA, dice.below(20));
        case 4: return post(reg::RX_START, dice.below(100));
        case 5: return post(reg::RX_ADDRESS, place(100));
        case 6: return load(reg::RX_PROGRESS);
        case 7: return load(reg::RX_STATUS);
        case 8: return load(reg::ERRORS);
        case 9: return load(reg::RX_COUNT);
        default: return load(reg::IRQ_PENDING);
    }
}

void CabTraffic::timers(std::uint32_t now) {
    const unsigned timer = dice.once(2) ? 0 : dice.below(8);
    switch (dice.below(8)) {
        case 0: return post(reg::TIMER_STOP, dice.below(0x100));
        case 1: return post(reg::TIMER_FIRED, dice.below(0x100));
        case 2: return post(period_of(timer), dice.once(2) ? 0 : dice.below(60));
        case 3: return load(dice.once(2) ? reg::TIMER_FIRED : reg::TIMER_ARMED);
        case 4: return load(dice.once(2) ? compare_of(timer) : period_of(timer));
        case 5: return load(reg::TIMER_NOW);
        case 6: return post(compare_of(timer), dice.once(8) ? dice.bits() : now + dice.below(2000));
        default: return post(compare_of(timer), now - 20 + dice.below(150));
    }
}

// An address of the node's memory, most often in its first pages, of which some are open; else any.
std::uint32_t CabTraffic::remote() {
    if (dice.once(30)) return dice.bits();
    return vme::NODE_MEMORY + dice.below(NODE_PAGES_USED * vme::NODE_PAGE_BYTES + 64);
}

// What VME's master is asked: most often transfers with the node's memory.
void CabTraffic::master() {
    switch (dice.below(12)) {
        case 0: return post(reg::VD_CONTROL, dice.once(10));
        case 1: return post(reg::VD_RESULT, dice.bits());
        case 2: return post(reg::VD_THRESHOLD, dice.below(60));
        case 3: return post(reg::VD_REMOTE, remote());
        case 4: {
            if (dice.once(2)) return load(reg::VME_WINDOW);
            const std::uint32_t near = (vme::NODE_MEMORY & reg::VME_WINDOW_PAGE) | vme::A32_USER_DATA;
            return post(reg::VME_WINDOW, dice.once(4) ? dice.bits() : near);
        }
        case 5:
            if (!dice.once(30)) return;
            queue_.push_back({region::VME + (dice.once(4) ? dice.below(region::VME_BYTES) : dice.below(0x8000)),
                              dice.bits(), dice.once(2),
                              static_cast<std::uint8_t>(dice.below(16))});
            return;
        case 6:
        case 7: {
            const std::uint32_t length = dice.once(6) ? 0 : dice.below(dice.once(4) ? 600 : 40);
            const std::uint8_t known[] = {vme::A32_USER_DATA, vme::A32_USER_BLOCK, vme::A32_SUPER_BLOCK};
            std::uint32_t more = dice.bits() & ~reg::VD_SEND_LENGTH;
            if (!dice.once(12)) {
                more &= ~reg::VD_SEND_MODIFIER;
                more |= put_field(reg::VD_SEND_MODIFIER, known[dice.below(3)]);
            }
            if (dice.once(2)) post(reg::VD_REMOTE, remote());
            post(reg::VD_ADDRESS, place(length));
            return post(dice.once(2) ? reg::VD_SEND : reg::VD_FETCH, more | length);
        }
        default: return load(MASTER[dice.below(std::size(MASTER))]);
    }
}

// An interrupt to the node, or what is waiting there.
void CabTraffic::raise() {
    if (dice.once(3)) return load(reg::VME_INTERRUPT);
    if (dice.once(2)) return master();
    post(reg::VME_INTERRUPT, put_field(reg::VME_INTERRUPT_LEVEL, dice.below(8)) | dice.below(0x100));
}

void CabTraffic::interrupts() {
    if (vme_ && dice.once(3)) return raise();
    switch (dice.below(6)) {
        case 0: return post(reg::IRQ_ENABLE, dice.bits());
        case 1: return post(reg::IRQ_THRESHOLD, dice.once(2) ? 0 : dice.below(16));
        case 2: return post(dice.once(2) ? reg::IRQ_LEVEL0 : reg::IRQ_LEVEL1, dice.once(2) ? 0x11111111 : dice.bits());
        case 3: return post(reg::IRQ_PENDING, dice.bits());
        default: return load(reg::IRQ_VECTOR);
    }
}

// Rights of pages, domains, and what tells of refused accesses.
void CabTraffic::protect() {
    const std::uint32_t domain = dice.once(4) ? cab::DOMAINS - 1 : dice.below(DOMAINS_USED);
    const std::uint32_t pages[] = {region::DATA + 1024 * dice.below(USED_BYTES / 1024 + 1), region::REGISTERS,
                                   region::REGISTERS + 1024, region::PROGRAM, region::PROM, dice.bits() & 0xFFFFFF};
    const std::uint32_t entry = region::PROTECTION + (domain << 14) + (pages[dice.below(6)] >> 10);
    switch (dice.below(8)) {
        case 0: return post(reg::DOMAIN, dice.once(4) ? dice.bits() : domain);
        case 1:
            on_ = true;
            return post(reg::DOMAINS_ON, dice.once(4) ? dice.bits() : 0x8000FFFF);
        case 2: return load(reg::TRAP_ADDRESS);
        case 3: return load(reg::TRAP_INFO);
        case 4: return post(reg::TRAP_INFO, 0);
        case 5: return load(entry & ~3u);
        default:
            queue_.push_back({entry, dice.once(3) ? dice.bits() : 0x07070707, true,
                              static_cast<std::uint8_t>(dice.once(2) ? 0xF : 1 + dice.below(15))});
    }
}

void CabTraffic::memory() {
    const std::uint32_t first = (dice.once(4) ? region::PROGRAM : region::DATA) + 4 * dice.below(USED_BYTES / 4);
    const bool write = dice.once(2);
    const unsigned words = dice.once(2) ? 1 : 1 + dice.below(12);
    for (unsigned n = 0; n < words; ++n) {
        const auto select = static_cast<std::uint8_t>(dice.once(4) ? dice.below(16) : 0xF);
        queue_.push_back({(first + 4 * n) | (dice.once(8) ? dice.below(4) : 0), dice.bits(), write, select});
    }
}

void CabTraffic::anywhere() {
    const std::uint32_t base[] = {region::PROM,      region::PROGRAM,    region::DATA, region::REGISTERS,
                                  region::REGISTERS, region::PROTECTION, region::VME,  0};
    const unsigned where = dice.below(std::size(base));
    std::uint32_t address = base[where] + (dice.once(4) ? dice.below(1 << 20) : 4 * dice.below(0x120));
    if (where == 7) address = dice.bits();
    address &= 0xFFFFFF;
    // An access to the window lasts long.
    if (vme_ && address >= region::VME && !dice.once(60)) return;
    const bool reset = (address & ~3u) == reg::RESET;
    const bool write = dice.once(2) && (!reset || mood.resets);
    // What is read of the table before it was written is anything.
    if (!write && address >= region::PROTECTION && address < region::PROTECTION + region::PROTECTION_BYTES) return;
    queue_.push_back({address, dice.bits(), write, static_cast<std::uint8_t>(dice.once(4) ? dice.below(16) : 0xF)});
}

std::vector<Access> CabTraffic::node() {
    if (vme_ && opened_ < NODE_PAGES_USED) return {{vme::NODE_PAGES + 4 * opened_++, 1, true}};
    if (!mood.node_gap || !dice.once(mood.node_gap)) return {};
    if (dice.once(6)) return {{region::VME, 0, false, 1}};  // acknowledges an interrupt
    if (dice.once(12)) return {{reg::VME_BELL, 0, true}};
    const std::uint32_t used = 4 * dice.below(USED_BYTES / 4);
    const std::uint32_t places[] = {region::DATA + used,
                                    region::DATA + used,
                                    region::DATA + used,
                                    region::PROGRAM + used,
                                    region::PROM + used,
                                    REGISTERS[dice.below(std::size(REGISTERS))],
                                    reg::TX_ADDRESS,
                                    region::REGISTERS + 4 * dice.below(0x120),
                                    dice.below(region::VME) & ~3u,
                                    vme::NODE_MEMORY + used,
                                    vme::NODE_PAGES + 4 * dice.below(NODE_PAGES_USED)};
    const std::uint32_t first = places[dice.below(std::size(places))];
    const bool write = dice.once(2);
    const unsigned words = dice.once(2) ? 1 : dice.once(3) ? dice.below(80) + 1 : dice.below(6) + 1;
    std::vector<Access> accesses;
    for (unsigned n = 0; n < words; ++n) {
        const std::uint32_t address = first + 4 * n;
        if ((address >= region::VME && address < vme::NODE_MEMORY) || address == reg::RESET) break;
        if (address >= vme::NODE_PAGES) return {{first, write && dice.once(4) ? 0u : 1u, write}};
        // Of a block only its ends have bytes that are not wanted.
        const std::uint8_t part = static_cast<std::uint8_t>(words == 1 ? 1 + dice.below(15) : n ? 0xE : 7);
        const bool whole = (n > 0 && n + 1 < words) || !dice.once(3);
        accesses.push_back({address, dice.bits(), write, whole ? std::uint8_t{0xF} : part});
    }
    return accesses;
}

// Puts a frame into what arrives.
void CabTraffic::arrive() {
    const auto symbol = [&](unsigned value) { stream_.push_back(static_cast<std::uint16_t>(value)); };
    const auto frame = [&](Control control) {
        symbol(static_cast<unsigned>(control));
        for (unsigned n = mood.errors && dice.once(4) ? dice.below(3) : 3; n > 0; --n) {
            symbol(dice.below(0x100));
            if (dice.once(10)) symbol(static_cast<unsigned>(Control::READY));
        }
    };
    switch (dice.below(10)) {
        case 0: return symbol(static_cast<unsigned>(Control::READY));
        case 1: return dice.once(2) ? frame(Control::REPLY) : symbol(static_cast<unsigned>(Control::IDLE));
        case 2: return frame(Control::COMMAND);
        case 3:
            if (mood.errors) symbol(dice.below(0x200));
            return;
        default: break;
    }
    std::vector<std::uint8_t> bytes(dice.once(3) ? dice.below(20) : dice.below(mood.packet_bytes));
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(dice.bits());
    if (check_ == 0) {
        const std::uint32_t sum = crc32(bytes);
        for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<std::uint8_t>(sum >> shift));
    } else if (check_ == 1) {
        const std::uint16_t sum = internet(bytes);
        bytes.push_back(static_cast<std::uint8_t>(sum >> 8));
        bytes.push_back(static_cast<std::uint8_t>(sum));
    }
    if (mood.errors && !bytes.empty() && dice.once(3)) bytes[dice.below(static_cast<std::uint32_t>(bytes.size()))] ^= 1;
    if (mood.errors && dice.once(3)) bytes.resize(dice.below(static_cast<std::uint32_t>(bytes.size() + 1)));
    if (!mood.errors || !dice.once(8)) symbol(static_cast<unsigned>(Control::START));
    for (const std::uint8_t byte : bytes) {
        symbol(byte);
        if (dice.once(40)) dice.once(2) ? symbol(static_cast<unsigned>(Control::READY)) : frame(Control::REPLY);
    }
    if (!mood.errors || !dice.once(8)) symbol(static_cast<unsigned>(Control::END));
}

int CabTraffic::symbol() {
    if (mood.symbol_gap == 0) return -1;
    if (mood.symbol_gap == 1 ? cycle_ % 5 == 0 : mood.symbol_gap > 2 && !dice.once(mood.symbol_gap)) return -1;
    if (stream_.empty()) {
        if (!dice.once(mood.symbol_gap > 5 ? 2 : 20)) return -1;
        arrive();
    }
    if (stream_.empty()) return -1;
    const int symbol = stream_.front();
    stream_.pop_front();
    return symbol;
}

bool CabTraffic::fiber_ready() {
    ++cycle_;
    switch (mood.ready_pattern) {
        case 0: return true;
        case 1: return cycle_ % 5 != 0;
        case 2: return dice.once(2);
        default: return dice.once(12);
    }
}

}  // namespace nectar
