#include "cab.h"

#include <algorithm>
#include <iterator>

namespace nectar::fast {

namespace {

constexpr unsigned SLOTS = 4;
// Cycles that an area's look-up takes beside those of its pages.
constexpr unsigned WALK_MORE = 3;
constexpr std::uint32_t PAGE_MASK = (1u << cab::PAGE_BITS) - 1;
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

Cab::Cab(bool vme)
    : data_(region::DATA_BYTES), program_(region::PROGRAM_BYTES), vme_(vme ? std::make_unique<Vme>() : nullptr) {}

void Cab::connect(Pins& pins) {
    pins.clk = &clk_;
    pins.clk_before = &clk_;
    pins.rst = &pins_.rst;
    pins.idle = &idle_;
    pins.hub_id = nullptr;
    CpuPins& cpu = pins.cpu;
    cpu.valid = &pins_.valid;
    cpu.ready = &ready_;
    cpu.address = &pins_.address;
    cpu.write = &pins_.write;
    cpu.kernel = &pins_.kernel;
    cpu.select = &pins_.select;
    cpu.write_data = &pins_.write_data;
    cpu.done = &done_;
    cpu.read_data = &read_data_;
    cpu.error = &error_;
    cpu.irq = &irq_;
    cpu.wake_in = &timers_.wake_in;
    cpu.slept = &slept_;
    pins.ports.push_back({&pins_.rx_payload, &pins_.rx_valid, &out_.payload, &out_.valid, &pins_.tx_ready});
    pins.probes.levels.push_back(&in_.level);
    pins.probes.channels.push_back(&out_.working);
    pins.probes.channels.push_back(&in_.scatter.running);
    if (!vme_) {
        pins.napper = this;
        return;
    }
    pins.probes.channels.push_back(vme_->master.working());
    vme_->connect(pins.vme);
}

void Cab::reset() {
    if (ended_ && last_.target == Target::TABLE && last_.request.write) {
        protection_.write(last_.request.address - region::PROTECTION, last_.request.data, last_.request.select);
    }
    spare_held_ = at_work_ = settling_ = ended_ = stored_ = false;
    walk_ = Walk{};
    write_ = Write{};
    read_ = 0;
    done_ = 0;
    turn_ = false;
    if (vme_) vme_->reset();
    protection_.reset();
    out_.reset();
    in_.reset();
    timers_.reset();
    interrupts_.reset();
    std::fill(std::begin(errors_), std::end(errors_), 0);
    slot_ = slept_;
}

void Cab::edge() {
    const Inputs in = held_;
    take_pins();
    // What has nothing to do is left alone.
    if (quiet_ && !(in.valid | in.rx_valid | in.rst)) {
        timers_.edge(write_, slept_, false);
        slot_ += 1 + slept_;
        if (!timers_.quiet()) quiet_ = false;
        return;
    }
    if (streams_ && !(in.valid | in.rst)) return stream(in);
    const bool resetting = resetting_;
    resetting_ = in.rst;
    if (resetting) {
        streams_ = false;
        reset();
        in_.arrive(in.rx_valid ? in.rx_payload : -1);
        ready_ = 1;
        idle_ = !resetting_ && in_.idle && (!vme_ || vme_->idle());
        irq_ = 0;
        return;
    }

    // What the last access does.
    write_.address = 0;
    read_ = 0;
    done_ = 0;
    std::uint32_t raised = 0;
    if (ended_) respond(raised);

    // Who has data memory.
    unsigned wants = (in_.writer.waits ? FIBER_IN : 0) | (out_.fetches() ? FIBER_OUT : 0) |
                     (at_work_ && work_.target == Target::DATA ? CPU : 0) |
                     (vme_ && vme_->master.wants() ? VME : 0);
    const unsigned given = wants ? arbitrate(wants) : 0;
    slot_ += 1 + slept_;
    stored_ = false;
    const bool ready_signal = in_.ready_signal();
    const std::uint32_t before = states();

    if (given & FIBER_IN) {
        data_.write(in_.writer.word_address, in_.writer.data, in_.writer.select);
        stored_ = in_.writer.select;
    }
    std::uint32_t vme_word = 0;
    if (given & VME) {
        const VmeMaster& master = vme_->master;
        if (master.writes()) {
            data_.write(master.word(), master.stored(), master.select());
            stored_ = true;
        } else {
            vme_word = data_[master.word()];
        }
    }
    // The access at work, which finds all as it is in this cycle; whether the next may begin.
    const bool settles = at_work_ && work_.settles;
    ended_ = at_work_ && make(given & CPU);
    at_work_ = at_work_ && !ended_;
    const bool free = !at_work_ && !settles && !settling_;
    settling_ = ended_ && settles;
    Errors errors;
    raised |= out_.edge(write_, data_.words(), given & FIBER_OUT, in.tx_ready, ready_signal);
    raised |= in_.edge(write_, read_, given & FIBER_IN, in.rx_valid ? in.rx_payload : -1, errors);

    const bool taken = next(in, free);
    if (vme_) {
        raised |= vme_->edge(write_, taken, given & VME, vme_word);
        const VmeMaster& master = vme_->master;
        if (master.answers()) {
            done_ = 1;
            error_ = master.failed();
            read_data_ = master.read_data();
        }
    }
    const bool clear = write_.address == reg::RESET && write_.data & reg::RESET_BOARD;
    if (timers_.edge(write_, slept_, clear)) raised |= irq::TIMER;
    if (errors.any() && count_errors(errors)) raised |= irq::ERROR;
    interrupts_.edge(write_, before, raised);
    if (write_.address >= region::REGISTERS + cab::KERNEL_PAGE) write_kernel();
    if (clear) {
        protection_.reset();
        out_.reset();
        in_.reset();
        interrupts_.reset();
        std::fill(std::begin(errors_), std::end(errors_), 0);
    }

    ready_ = !spare_held_;
    irq_ = interrupts_.raised(states()) != 0;
    idle_ = !resetting_ && out_.idle && in_.idle && !(stored_ || at_work_ || spare_held_ || ended_ || done_);
    if (vme_) idle_ = idle_ && vme_->idle();
    quiet_ = !vme_ && idle_ && in_.rests() && interrupts_.settled() && timers_.quiet();
    streams_ = !(vme_ || resetting_ || at_work_ || spare_held_ || ended_ || done_ || settling_);
    if (quiet_ || streams_) write_.address = read_ = 0;
}

// edge() where nobody asks for the bus: symbols, memory for them, time, and interrupts that they raise.
void Cab::stream(const Inputs& in) {
    const unsigned wants = (in_.writer.waits ? FIBER_IN : 0) | (out_.fetches() ? FIBER_OUT : 0);
    const unsigned given = wants ? arbitrate(wants) : 0;
    slot_ += 1 + slept_;
    stored_ = false;
    const bool ready_signal = in_.ready_signal();
    const std::uint32_t before = states();
    if (given & FIBER_IN) {
        data_.write(in_.writer.word_address, in_.writer.data, in_.writer.select);
        stored_ = in_.writer.select;
    }
    Errors errors;
    std::uint32_t raised = out_.edge(write_, data_.words(), given & FIBER_OUT, in.tx_ready, ready_signal);
    raised |= in_.edge(write_, read_, given & FIBER_IN, in.rx_valid ? in.rx_payload : -1, errors);
    if (timers_.edge(write_, slept_, false)) raised |= irq::TIMER;
    if (errors.any() && count_errors(errors)) raised |= irq::ERROR;
    interrupts_.edge(write_, before, raised);
    irq_ = interrupts_.raised(states()) != 0;
    idle_ = out_.idle && in_.idle && !stored_;
    quiet_ = idle_ && in_.rests() && interrupts_.settled() && timers_.quiet();
}

// The inputs count from the next edge on; of an access or a symbol only if there is one.
void Cab::take_pins() {
    held_.rst = pins_.rst;
    held_.tx_ready = pins_.tx_ready;
    held_.rx_valid = pins_.rx_valid;
    if (pins_.rx_valid) held_.rx_payload = pins_.rx_payload;
    held_.valid = pins_.valid;
    if (!pins_.valid) return;
    held_.write = pins_.write;
    held_.kernel = pins_.kernel;
    held_.select = pins_.select;
    held_.address = pins_.address;
    held_.write_data = pins_.write_data;
}

// Gives the cycle to the user of the slot if it wants it, else to the first in order.
unsigned Cab::arbitrate(unsigned wants) {
    if (const unsigned owner = wants & 1u << slot_ % SLOTS) return owner;
    for (const unsigned user : {FIBER_IN, FIBER_OUT, CPU, VME}) {
        if (wants & user) return user;
    }
    return 0;
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

// Counts the errors of this cycle. Returns whether a counter moves.
bool Cab::count_errors(const Errors& errors) {
    const std::uint8_t more[] = {errors.overrun, errors.stray, errors.framing, errors.reply_lost};
    bool moved = false;
    for (unsigned n = 0; n < std::size(more); ++n) {
        const auto count = static_cast<std::uint8_t>(std::min(errors_[n] + more[n], 0xFF));
        moved = moved || count != errors_[n];
        errors_[n] = count;
    }
    return moved;
}

// A write to the kernel's page.
void Cab::write_kernel() {
    switch (write_.address) {
        case reg::DOMAIN: protection_.current = get(reg::DOMAIN_CURRENT, write_.data); break;
        case reg::DOMAINS_ON: protection_.on = write_.data & ~1u; break;
        case reg::TRAP_INFO: protection_.forget(); break;
        default: break;
    }
}

}  // namespace nectar::fast
