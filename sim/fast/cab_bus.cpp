// The bus of the fast CAB: accesses of CPU and VME begin, are checked by the protection, reach memories and registers,
// and are answered.
#include "cab.h"

namespace nectar::fast {

namespace {

// Cycles that an area's look-up takes beside those of its pages.
constexpr unsigned WALK_MORE = 3;
constexpr std::uint32_t WORD_MASK = ~3u;

// Registers that take the length of an area; those of areas that are written.
constexpr bool fills(std::uint32_t address) {
    return address == reg::RX_AREA || address == reg::RX_START || address == reg::VD_FETCH;
}
constexpr bool is_area(std::uint32_t address) {
    return fills(address) || address == reg::TX_AREA || address == reg::VD_SEND;
}

constexpr bool within(std::uint32_t address, std::uint32_t base, std::uint32_t bytes) { return address - base < bytes; }

}  // namespace

// The access at work, which finds all as it is in this cycle; data memory is given to the CPU. Then the next one
// begins. Returns whether that is VME's.
bool Cab::work(const Inputs& in, bool given) {
    const bool settles = at_work_ && work_.settles;
    ended_ = at_work_ && make(given);
    at_work_ = at_work_ && !ended_;
    const bool free = !at_work_ && !settles && !settling_;
    settling_ = ended_ && settles;
    return next(in, free);
}

// Begins the next access, if one may and is wanted. Returns whether it is VME's.
bool Cab::next(const Inputs& in, bool free) {
    const bool wanted = vme_ && vme_->wants();
    const bool asked = spare_held_ || in.valid;
    // Behind an access to the window, nothing of the CPU begins until the window has answered.
    const bool parks = (ended_ && last_.target == Target::WINDOW) || (vme_ && vme_->master.parks());
    const bool cpu = free && asked && !parks && !(wanted && turn_) && !(vme_ && vme_->locks());
    const bool vme = free && wanted && !cpu;
    if (asked) {
        const BusRequest request = spare_held_ ? spare_
                                            : BusRequest{in.address, in.write_data, in.select, in.write != 0,
                                                      in.kernel != 0};
        spare_held_ = !cpu;
        spare_ = request;
        if (cpu) begin(request, false);
    }
    if (vme) begin(vme_->request(), true);
    if (cpu || vme) turn_ = cpu;
    return vme;
}

void Cab::begin(const BusRequest& request, bool vme) {
    at_work_ = true;
    work_.request = request;
    const std::uint32_t address = request.address & WORD_MASK;
    const unsigned domain = vme ? cab::DOMAINS - 1 : request.kernel ? cab::KERNEL : protection_.current;
    const bool table = within(address, region::PROTECTION, region::PROTECTION_BYTES);
    const bool registers = within(address, region::REGISTERS, region::REGISTERS_BYTES);
    const bool kernels = registers && address - region::REGISTERS >= cab::KERNEL_PAGE;
    work_.domain = static_cast<std::uint8_t>(domain);
    work_.vme = vme;
    const bool right = protection_.allows(domain, address, request.right());
    work_.allowed = right && (domain == cab::KERNEL || !(table || kernels));
    work_.settles = table || (kernels && request.write);
    work_.target = within(address, region::DATA, region::DATA_BYTES)         ? Target::DATA
                   : registers                                               ? Target::REGISTERS
                   : within(address, region::PROGRAM, region::PROGRAM_BYTES) ? Target::PROGRAM
                   : table && domain == cab::KERNEL                          ? Target::TABLE
                   : within(address, region::PROM, region::PROM_BYTES) && !request.write ? Target::PROM
                   : vme_ && !vme && within(address, region::VME, region::VME_BYTES)     ? Target::WINDOW
                                                                                          : Target::NOTHING;
}

// The access at work: the memories are asked. Returns whether it is over.
bool Cab::make(bool given) {
    const BusRequest& request = work_.request;
    const std::uint32_t address = request.address & WORD_MASK;
    word_ = 0;
    last_failed_ = false;
    switch (work_.target) {
        case Target::DATA:
            if (!given) return false;
            if (request.write) {
                if (work_.allowed) data_.write((address - region::DATA) / 4, request.data, request.select);
                stored_ = request.select;
            } else {
                word_ = data_[(address - region::DATA) / 4];
            }
            break;
        case Target::PROGRAM:
            if (!request.write) {
                word_ = program_[(address - region::PROGRAM) / 4];
            } else if (work_.allowed) {
                program_.write((address - region::PROGRAM) / 4, request.data, request.select);
            }
            break;
        case Target::REGISTERS:
            if (!walk()) return false;
            break;
        case Target::TABLE:
            if (!request.write) word_ = protection_.word(address - region::PROTECTION);
            break;
        default: break;
    }
    last_ = work_;
    return true;
}

// Whether the access at work, to a register, is over: pages of an area may have to be looked up first.
bool Cab::walk() {
    const BusRequest& request = work_.request;
    if (!request.write || work_.domain == cab::KERNEL) return true;
    const std::uint32_t address = request.address & WORD_MASK;
    if (!is_area(address)) return true;
    switch (walk_.state) {
        case Walk::State::ABSENT: walk_.state = Walk::State::BEGINS; return false;
        case Walk::State::BEGINS:
            look_up();
            walk_.state = Walk::State::RUNS;
            return false;
        default: break;
    }
    if (--walk_.left > 0) return false;
    walk_.state = Walk::State::ABSENT;
    last_failed_ = walk_.refused;
    return true;
}

// Finds what the look-up of the area will have found at its end.
void Cab::look_up() {
    const BusRequest& request = work_.request;
    walk_.left = WALK_MORE - 1;
    walk_.refused = walk_.denied = false;
    if (!work_.allowed || request.select != 0xF) return;
    const std::uint32_t address = request.address & WORD_MASK;
    walk_.refused = refuses(address, request.data);
    if (walk_.refused) return;
    const bool writes = fills(address);
    const std::uint32_t first = area_address(address);
    const std::uint32_t length = request.data & reg::TX_AREA_LENGTH;
    for (std::uint32_t at = first; at < first + length; at = (at | PAGE_MASK) + 1) {
        ++walk_.left;
        if (protection_.allows(work_.domain, at, writes ? cab::WRITE : cab::READ)) continue;
        walk_.denied = true;
        walk_.address = at;
        work_.allowed = false;
        return;
    }
}

// Where the area begins whose length that register takes.
std::uint32_t Cab::area_address(std::uint32_t address) const {
    if (address == reg::TX_AREA) return out_.address;
    return address == reg::VD_SEND || address == reg::VD_FETCH ? vme_->master.address : in_.scatter.address;
}

// Does what the access that has ended does, and answers it.
void Cab::respond(std::uint32_t& raised) {
    if (last_.target == Target::WINDOW && last_.allowed) return vme_->master.park(last_.request);
    std::uint32_t data = 0;
    const bool error = answer(data);
    if (!last_.allowed) raised |= irq::TRAP;
    if (last_.vme) {
        vme_->answer(data, error);
        return;
    }
    done_ = 1;
    error_ = error;
    read_data_ = data;
}

// Returns whether the access that has ended is an error; `data`: what it has read, else 0.
bool Cab::answer(std::uint32_t& data) {
    const BusRequest& request = last_.request;
    const std::uint32_t address = request.address & WORD_MASK;
    if (!last_.allowed) {
        // Of an area it is the look-up that tells what is forbidden.
        const cab::AccessKind of_area = fills(address) ? cab::AccessKind::WRITE : cab::AccessKind::READ;
        protection_.record(walk_.denied ? walk_.address : request.address, last_.domain,
                           walk_.denied ? of_area : request.kind(), last_.vme);
        walk_.denied = false;
        return true;
    }
    switch (last_.target) {
        case Target::NOTHING: return true;
        case Target::REGISTERS:
            if (request.select != 0xF || last_failed_) return true;
            return request.write ? !store(address, request.data) : !load(address, data);
        case Target::TABLE:
            if (request.write) protection_.write(address - region::PROTECTION, request.data, request.select);
            [[fallthrough]];
        default:
            if (!request.write) data = word_;
            return false;
    }
}

}  // namespace nectar::fast
