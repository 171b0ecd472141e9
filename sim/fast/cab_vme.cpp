#include "cab_vme.h"

namespace nectar::fast {

namespace {

// Cycles from the one in which strobes are seen, the second after they have fallen, to the one in which the access is
// wanted: of a cycle's first transfer; of a later one, where it must be made before the answer.
constexpr unsigned FIRST = 6, LATER = 3;
constexpr std::uint32_t WORD_BYTES = 4;

constexpr unsigned SYSTEM_HIGH = 0xFF00;  // D15 to D08 of a status/ID

}  // namespace

void Vme::connect(VmePins& pins) {
    pins = {&given_.as_n, &given_.ds_n, &write_n_,        &lword_n_, &iack_n_, &address_,  &am_,
            &data_,       &given_.iackin_n, &dtack_, &berr_,    &irq_,    &data_out_};
}

void Vme::reset() {
    held_ = first_ = second_ = Lines{};
    state_ = State::WAITS;
    access_ = Access::NONE;
    request_ = Request{};
    answered_ = block_ = later_ = ready_ = failed_ = locks_ = unlocks_ = false;
    dtack_ = berr_ = irq_ = 0;
    window_ = 0;
    idle_ = true;
}

bool Vme::in_data() const { return request_.address - region::DATA < region::DATA_BYTES; }

// The bytes of a word that the strobes name; DS1* is for the byte at the even address.
std::uint8_t Vme::selected() const {
    if (!lword_n_) return 0xF;
    const unsigned half = 3 & ~second_.ds_n;
    return static_cast<std::uint8_t>(address_ & 1 ? half : half << 2);
}

std::uint32_t Vme::from_lines() const {
    return !lword_n_ ? data_ : address_ & 1 ? data_ & 0xFFFF : data_ << 16;
}

void Vme::to_lines(std::uint32_t word) { data_out_ = !lword_n_ ? word : address_ & 1 ? word & 0xFFFF : word >> 16; }

void Vme::pull(bool error) {
    (error ? berr_ : dtack_) = 1;
    state_ = State::ANSWERED;
}

// What becomes of the access that is wanted or under way.
void Vme::follow(bool taken) {
    if (taken) {
        access_ = Access::TAKEN;
        locks_ = state_ == State::ASKS && !request_.write && !block_;
    } else if (access_ == Access::NEXT) {
        access_ = Access::WANTED;
    } else if (answered_) {
        access_ = Access::NONE;
        // Made ahead of a transfer, or behind one.
        if (state_ != State::ASKS) {
            failed_ = error_;
            ready_ = !request_.write && !error_;
        }
    }
}

// The strobes of a transfer have been seen.
void Vme::begin() {
    if (!iack_n_) {
        state_ = State::LOOKS;
        left_ = 1;
    } else if (!later_ || !in_data()) {
        state_ = State::LOOKS;
        left_ = (later_ ? LATER : FIRST) - 1;
    } else if (access_ != Access::NONE) {
        return;  // that of the transfer before is not over yet
    } else if (failed_) {
        failed_ = false;
        pull(true);
    } else if (request_.write) {
        next();
        request_.data = data_;
        access_ = Access::NEXT;
        pull(false);
    } else {
        to_lines(word_);
        pull(false);
        read_ahead(Access::WANTED);
    }
}

void Vme::next() { request_.address += WORD_BYTES; }

// The next word of a block, if it may come.
void Vme::read_ahead(Access access) {
    ready_ = false;
    if ((request_.address + WORD_BYTES) % vme::BLOCK_BYTES == 0) return;
    next();
    access_ = access;
}

// The address has been looked at: an access is wanted.
void Vme::look() {
    if (later_) {
        next();
    } else {
        request_.address = (address_ << 1) & ~(WORD_BYTES - 1);
        block_ = am_ == vme::A24_USER_BLOCK;
    }
    request_.write = !write_n_;
    request_.select = selected();
    request_.data = from_lines();
    access_ = Access::WANTED;
    state_ = State::ASKS;
}

// Answers with a status/ID if that level waits. Returns the interrupt that this is.
std::uint32_t Vme::acknowledge() {
    const unsigned level = address_ & 7;
    if (!level || !(irq_ >> (level - 1) & 1)) {
        state_ = State::WAITS;
        return 0;
    }
    irq_ &= ~(1u << (level - 1));
    data_out_ = SYSTEM_HIGH | vectors_[level];
    pull(false);
    return irq::VME_TAKEN;
}

std::uint32_t Vme::edge(const Write& write, bool taken) {
    std::uint32_t raised = 0;
    if (unlocks_) locks_ = unlocks_ = false;
    const bool answered = answered_;
    follow(taken);
    answered_ = false;
    switch (state_) {
        case State::WAITS:
            if (second_.asks()) begin();
            break;
        case State::LOOKS:
            if (--left_ > 0) break;
            if (!iack_n_) {
                raised = acknowledge();
            } else {
                look();
            }
            break;
        case State::ASKS:
            if (!answered) break;
            if (error_ || request_.write) {
                pull(error_);
            } else {
                state_ = State::ANSWERS;
            }
            break;
        case State::ANSWERS:
            to_lines(word_);
            pull(false);
            if (block_ && in_data()) read_ahead(Access::NEXT);
            break;
        case State::ANSWERED:
            if (second_.ds_n != 3) break;
            dtack_ = berr_ = 0;
            state_ = State::WAITS;
            later_ = block_;
            unlocks_ = true;
            break;
    }
    if (second_.as_n) later_ = block_ = ready_ = failed_ = false;
    if (write.address == reg::VME_BELL) raised |= irq::VME_BELL;
    if (write.address == reg::VME_WINDOW) window_ = write.data & (reg::VME_WINDOW_MODIFIER | reg::VME_WINDOW_PAGE);
    if (write.address == reg::VME_INTERRUPT) {
        const unsigned level = get(reg::VME_INTERRUPT_LEVEL, write.data);
        vectors_[level] = static_cast<std::uint8_t>(get(reg::VME_INTERRUPT_VECTOR, write.data));
        irq_ |= 1u << (level - 1);
    }
    second_ = first_;
    first_ = held_;
    held_ = given_;
    idle_ = !(held_.low() || first_.low() || second_.low() || access_ != Access::NONE);
    return raised;
}

bool Vme::has(std::uint32_t address, bool to_write) {
    switch (address) {
        case reg::VME_INTERRUPT:
        case reg::VME_WINDOW: return true;
        case reg::VME_BELL: return to_write;
        default: return false;
    }
}

bool Vme::refuses(std::uint32_t address, std::uint32_t data) const {
    if (address != reg::VME_INTERRUPT) return false;
    const unsigned level = get(reg::VME_INTERRUPT_LEVEL, data);
    return !level || irq_ >> (level - 1) & 1;
}

std::uint32_t Vme::load(std::uint32_t address) const {
    switch (address) {
        case reg::VME_INTERRUPT: return put(reg::VME_INTERRUPT_PENDING, irq_);
        case reg::VME_WINDOW: return window_;
        default: return 0;
    }
}

}  // namespace nectar::fast
