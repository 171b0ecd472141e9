#include "cab.h"

#include <algorithm>
#include <iterator>

namespace nectar::fast {

namespace {

constexpr unsigned SLOTS = 4;

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
    const unsigned given = wants ? arbitrate(wants, slot_) : 0;
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
    const bool taken = work(in, given & CPU);
    Errors errors;
    raised |= out_.edge(write_, data_.words(), given & FIBER_OUT, in.tx_ready, ready_signal);
    raised |= in_.edge(write_, read_, given & FIBER_IN, in.rx_valid ? in.rx_payload : -1, errors);

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
    find_streams();
    if (quiet_) write_.address = read_ = 0;
}

// At the end of an edge.
void Cab::find_streams() {
    streams_ = !(vme_ || resetting_ || at_work_ || spare_held_ || ended_ || done_ || settling_);
    if (streams_) write_.address = read_ = 0;
}

// edge() for CPU and bus alone, while neither depends on what the fibers do; data memory is given to the CPU.
void Cab::edge_of_bus(bool given) {
    const Inputs in = held_;
    take_access();
    write_.address = read_ = 0;
    done_ = 0;
    stored_ = false;
    std::uint32_t raised = 0;
    if (ended_) respond(raised);
    work(in, given);
    if (write_.address) {
        out_.enter(write_);
        in_.enter(write_);
    }
    interrupts_.edge(write_, states(), raised);
    ready_ = !spare_held_;
    irq_ = interrupts_.raised(states()) != 0;
}

// edge() where nobody asks for the bus: symbols, memory for them, time, and interrupts that they raise.
void Cab::stream(const Inputs& in) {
    const unsigned wants = (in_.writer.waits ? FIBER_IN : 0) | (out_.fetches() ? FIBER_OUT : 0);
    const unsigned given = wants ? arbitrate(wants, slot_) : 0;
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
    take_access();
}

void Cab::take_access() {
    held_.valid = pins_.valid;
    if (!pins_.valid) return;
    held_.write = pins_.write;
    held_.kernel = pins_.kernel;
    held_.select = pins_.select;
    held_.address = pins_.address;
    held_.write_data = pins_.write_data;
}

// Gives the cycle to the user of the slot if it wants it, else to the first in order.
unsigned Cab::arbitrate(unsigned wants, std::uint32_t slot) {
    if (const unsigned owner = wants & 1u << slot % SLOTS) return owner;
    for (const unsigned user : {FIBER_IN, FIBER_OUT, CPU, VME}) {
        if (wants & user) return user;
    }
    return 0;
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
