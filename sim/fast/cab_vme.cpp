#include "cab_vme.h"

namespace nectar::fast {

namespace {

// Cycles from the one in which strobes are seen, the second after they have fallen, to the one in which the access is
// wanted: of a cycle's first transfer; of a later one, where it must be made before the answer.
constexpr unsigned FIRST = 6, LATER = 3;
constexpr std::uint32_t WORD_BYTES = 4;

// Of an address modifier, A24; of the address lines, A23.
constexpr unsigned A24_MASK = 0x38;
constexpr std::uint32_t UPPER_HALF = 1u << 22;

constexpr unsigned SYSTEM_HIGH = 0xFF00;  // D15 to D08 of a status/ID

}  // namespace

void Vme::connect(VmePins& pins) {
    const VmeDriven& driven = master.driven();
    pins = {&given_.as_n,     &given_.ds_n,    &write_n_,       &lword_n_,    &iack_n_,       &address_,
            &am_,             &data_,          &given_.iackin_n, &given_.dtack_n, &given_.berr_n, &given_.br_n,
            &given_.bgin_n,   &dtack_,         &berr_,          &irq_,        &lines_out_,    &driven.bbsy,
            &driven.br,       &driven.as_n,    &driven.drive,   &driven.ds_n, &driven.write_n, &driven.lword_n,
            &driven.address,  &driven.am};
}

void Vme::reset() {
    state_ = State::WAITS;
    access_ = Access::NONE;
    request_ = BusRequest{};
    fresh_ = true;  // strobes that are low already have not been looked at
    alive_ = acknowledges_ = answers_ = answered_ = block_ = later_ = ready_ = failed_ = locks_ = unlocks_ = false;
    const VmeLines before = on_lines();
    dtack_ = berr_ = waiting_ = taken_ = answering_ = 0;
    master.reset();
    shift(before);
}

// Whether the cycle on the lines is for this board: in A24, the lower half.
bool Vme::ours() const { return (am_ & A24_MASK) == A24_MASK && am_ & AM_KIND && !(address_ & UPPER_HALF); }

bool Vme::in_data() const { return transfer_ - region::DATA < region::DATA_BYTES; }

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

// Answers on the lines, unless the strobes have been high: the next transfer's master would take it for its own.
void Vme::pull(bool error) {
    (error ? berr_ : dtack_) = alive_;
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
            failed_ = request_.write && error_;
            ready_ = !request_.write && !error_;
        }
    }
}

// The strobes of a transfer have been seen. `over`: so was the access of the transfer before, or ahead of this one.
void Vme::begin(bool over) {
    const bool fast = later_ && in_data();
    acknowledges_ = !iack_n_ && waits();
    if (acknowledges_) look_for(1);
    // What is not for this board is not looked at again.
    if (!iack_n_ || !ours()) {
        fresh_ = false;
        return;
    }
    // A word that is there in this cycle is given in the next; a word that was written is over at once.
    if (fast && (write_n_ ? !over : access_ != Access::NONE)) return;
    fresh_ = false;
    if (later_) transfer_ += WORD_BYTES;
    // That the word before was refused is known in the cycle behind its access.
    const bool late = fast && failed_ && !write_n_ && !over;
    if (!fast || failed_ || (write_n_ && !ready_)) return look_for((later_ ? LATER : FIRST) - 1 + late);
    if (write_n_) {
        to_lines(word_);
        read_ahead(Access::WANTED);
    } else {
        request_.address = transfer_;
        request_.data = from_lines();
        access_ = Access::NEXT;
    }
    pull(false);
}

// Waits for the next transfer's strobes.
void Vme::end() {
    state_ = State::WAITS;
    unlocks_ = true;
}

void Vme::look_for(unsigned cycles) {
    state_ = State::LOOKS;
    left_ = cycles;
}

// The next word of a block, if it may come.
void Vme::read_ahead(Access access) {
    ready_ = false;
    request_.address = transfer_ + WORD_BYTES;
    if (request_.address % vme::BLOCK_BYTES != 0) access_ = access;
}

// The address has been looked at: an access is wanted.
void Vme::look() {
    if (failed_) {
        failed_ = false;
        return pull(true);
    }
    if (!later_) {
        transfer_ = (address_ << 1) & ADDRESS_MASK & ~(WORD_BYTES - 1);
        block_ = (am_ & AM_KIND) == AM_BLOCK;
    }
    const bool fetch = write_n_ && (am_ & AM_KIND) == AM_PROGRAM;
    request_ = {transfer_, from_lines(), selected(), !write_n_, false, fetch};
    access_ = Access::WANTED;
    state_ = State::ASKS;
}

// Whether the level that is acknowledged on the lines waits.
bool Vme::waits() const {
    const unsigned level = address_ & 7;
    return level && waiting_ >> (level - 1) & 1;
}

// Answers with a status/ID. The level waits for one cycle more; its line is released at once, and until the lines are
// free again.
void Vme::acknowledge() {
    if (!alive_) return end();
    const unsigned level = address_ & 7;
    taken_ = answering_ = 1u << (level - 1);
    data_out_ = SYSTEM_HIGH | vectors_[level];
    pull(false);
}

std::uint32_t Vme::edge(const Write& write, bool taken, bool given, std::uint32_t word) {
    const VmeLines before = on_lines();
    std::uint32_t raised = master.edge(write, second_, held_.bgin_n, data_, given, word);
    if (unlocks_) locks_ = unlocks_ = false;
    const bool answered = answered_;
    const bool over = access_ == Access::NONE;
    follow(taken);
    if (taken_) raised |= irq::VME_TAKEN;
    waiting_ &= ~taken_;
    taken_ = 0;
    if (before.ds_n == 3) alive_ = false;
    if (second_.ds_n == 3) fresh_ = true;
    switch (state_) {
        case State::WAITS:
            if (!fresh_ || !second_.asks()) break;
            alive_ = before.ds_n != 3;
            begin(over);
            break;
        case State::LOOKS:
            if (left_ > 0) --left_;
            if (acknowledges_) {
                acknowledge();
            } else if (second_.ds_n == 3) {
                end();
            } else if (left_ == 0 && over) {
                look();
            }
            break;
        case State::ASKS:
            if (!answered) break;
            if (second_.ds_n == 3) {
                end();
            } else if (error_ || request_.write) {
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
            if (second_.ds_n != 3 && (dtack_ || berr_)) break;
            // A word that was refused ahead of its transfer is asked for once more.
            if (over && dtack_ && block_ && write_n_ && !ready_ && in_data()) read_ahead(Access::WANTED);
            dtack_ = berr_ = answering_ = 0;
            end();
            later_ = block_;
            break;
    }
    if (second_.as_n) later_ = block_ = ready_ = failed_ = false;
    if (write.address == reg::VME_BELL) raised |= irq::VME_BELL;
    if (write.address == reg::VME_INTERRUPT) {
        const unsigned level = get(reg::VME_INTERRUPT_LEVEL, write.data);
        vectors_[level] = static_cast<std::uint8_t>(get(reg::VME_INTERRUPT_VECTOR, write.data));
        waiting_ |= 1u << (level - 1);
    }
    answered_ = answers_;
    answers_ = false;
    shift(before);
    return raised;
}

// The lines in this cycle: what comes from outside, of DTACK* and BERR* as it comes, and what the board drives.
VmeLines Vme::on_lines() const {
    const VmeDriven& driven = master.driven();
    VmeLines lines = held_;
    if (driven.drive) {
        lines.as_n &= driven.as_n;
        lines.ds_n &= driven.ds_n;
    }
    lines.dtack_n = given_.dtack_n && !dtack_;
    lines.berr_n = given_.berr_n && !berr_;
    lines.br_n &= ~driven.br & 0xF;
    return lines;
}

// The lines go on by a flip-flop; `before`: as they were in the cycle.
void Vme::shift(const VmeLines& before) {
    second_ = first_;
    first_ = before;
    held_ = given_;
    irq_ = waiting_ & ~answering_;
    const VmeDriven& driven = master.driven();
    lines_out_ = driven.drive && !driven.write_n ? driven.data : data_out_;
    idle_ = !(held_.low() || first_.low() || second_.low() || access_ != Access::NONE);
}

bool Vme::has(std::uint32_t address, bool to_write) {
    switch (address) {
        case reg::VME_INTERRUPT: return true;
        case reg::VME_BELL: return to_write;
        default: return VmeMaster::has(address, to_write);
    }
}

bool Vme::refuses(std::uint32_t address, std::uint32_t data) const {
    if (address == reg::VD_SEND || address == reg::VD_FETCH) return master.refuses();
    if (address != reg::VME_INTERRUPT) return false;
    const unsigned level = get(reg::VME_INTERRUPT_LEVEL, data);
    return !level || waiting_ >> (level - 1) & 1;
}

std::uint32_t Vme::load(std::uint32_t address) const {
    return address == reg::VME_INTERRUPT ? put(reg::VME_INTERRUPT_PENDING, waiting_) : master.load(address);
}

}  // namespace nectar::fast
