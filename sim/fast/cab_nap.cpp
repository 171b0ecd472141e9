// What a fast CAB will do at its next edges if it is left alone. docs/naps.md.
#include "cab.h"
#include "port.h"
#include "processor.h"

#include <algorithm>
#include <cstddef>
#include <type_traits>

namespace nectar::fast {

namespace {

// Where the words of the CPU's block access go that it has had no answer to; addresses are the bus's.
Place rest_of(const Processor& cpu) {
    return {cpu.word(cpu.answered()).address, 4 * (cpu.words() - cpu.answered())};
}

bool within(const Place& place, std::uint32_t base, std::uint32_t bytes) {
    return place.address >= base && place.address - base + place.length <= bytes;
}

}  // namespace

Cab::Rest Cab::rest(const Processor& cpu) const {
    if (!timers_.rests() || held_.rst || pins_.rst || vme_) return {};
    const bool block = cpu.moves_block();
    if (block ? !may_move(cpu) : !streams_ || held_.valid) return {};
    if ((held_.rx_valid && held_.rx_payload >= CONTROL_BIT) || (pins_.rx_valid && pins_.rx_payload >= CONTROL_BIT)) {
        return {};
    }
    if (!out_.idle && !out_.sends_bytes()) return {};
    Rest rest;
    rest.sends = !out_.idle;
    rest.edges = in_.calm(rest.takes_bytes);
    if (!rest.takes_bytes && (held_.rx_valid | pins_.rx_valid)) return {};
    // An area may not be read while a packet is stored in it, or a block written.
    if (rest.sends && in_.stores_at(out_.area())) return {};
    if (block && rest.sends && pins_.write) {
        const Place place = rest_of(cpu);
        if (out_.area().meets({place.address - region::DATA, place.length})) return {};
    }
    return rest;
}

// Whether the words of the CPU's block access are all that is on the bus, and nothing else comes of them.
bool Cab::may_move(const Processor& cpu) const {
    if (resetting_ || settling_ || write_.address || read_) return false;
    const Place place = rest_of(cpu);
    if (!within(place, region::DATA, region::DATA_BYTES) && !within(place, region::PROGRAM, region::PROGRAM_BYTES)) {
        return false;
    }
    const unsigned domain = pins_.kernel ? cab::KERNEL : protection_.current;
    const cab::Right right = pins_.write ? cab::WRITE : cab::READ;
    for (std::uint32_t at = place.address; at < place.address + place.length; at = (at | PAGE_MASK) + 1) {
        if (!protection_.allows(domain, at, right)) return false;
    }
    return true;
}

std::size_t Cab::ahead(std::uint16_t* symbols, std::size_t most) const {
    return out_.ahead(data_.words(), symbols, most);
}

// The words of a block access on their way: from the CPU's pins to a register, to the memory, where one more may wait
// in front of it, and back.
class Cab::BlockMover {
  public:
    BlockMover(Cab& cab, Processor& cpu)
        : cab_(cab), cpu_(cpu), words_(cpu.words()), taken_(cpu.taken()),
          made_(cpu.answered() + cab.done_ + cab.ended_),
          writes_(cab.pins_.write), is_data_(within(rest_of(cpu), region::DATA, region::DATA_BYTES)),
          memory_(is_data_ ? cab.data_ : cab.program_), base_(is_data_ ? region::DATA : region::PROGRAM),
          driven_(cab.pins_.valid), held_(cab.held_.valid), spare_(cab.spare_held_), at_work_(cab.at_work_),
          ended_(cab.ended_), done_(cab.done_) {}

    // At an edge, first: what the CPU does.
    void edge() {
        if (done_) cpu_.answer(cab_.read_data_);
        if (driven_ && !spare_) driven_ = ++taken_ < words_;
        asked_ = spare_ || held_;
        held_ = driven_;
        done_ = ended_;
        if (done_) cab_.read_data_ = cab_.word_;
    }
    bool wants() const { return at_work_ && is_data_; }
    // Then: what the bus does; data memory is given to it.
    void move(bool given) {
        ended_ = at_work_ && (given || !is_data_);
        if (ended_) make();
        at_work_ = at_work_ && !ended_;
        if (asked_) {
            spare_ = at_work_;
            at_work_ = true;
        }
    }
    // In the end.
    void leave() {
        cpu_.take(taken_);
        cab_.held_.valid = held_;
        if (held_) {
            cab_.held_.write = writes_;
            cab_.held_.kernel = cab_.pins_.kernel;
            cab_.held_.select = cab_.pins_.select;
            cab_.held_.address = cab_.pins_.address;
            cab_.held_.write_data = cab_.pins_.write_data;
        }
        if (ended_) cab_.last_ = work(made_ - 1);
        if (at_work_) cab_.work_ = work(made_);
        if (spare_) cab_.spare_ = work(made_ + 1).request;
        cab_.ended_ = ended_;
        cab_.at_work_ = at_work_;
        cab_.spare_held_ = spare_;
        cab_.ready_ = !spare_;
        cab_.done_ = done_;
        if (done_) cab_.error_ = 0;
        cab_.streams_ = cab_.quiet_ = cab_.last_failed_ = false;
    }

  private:
    void make() {
        const Processor::Word word = cpu_.word(made_++);
        const std::uint32_t place = (word.address - base_) / 4;
        if (writes_) memory_.write(place, word.data, word.select);
        cab_.word_ = writes_ ? 0 : memory_[place];
    }
    Work work(std::uint32_t number) const {
        const Processor::Word word = cpu_.word(number);
        Work work;
        work.request = {word.address, word.data, word.select, writes_, cab_.pins_.kernel != 0};
        work.target = is_data_ ? Target::DATA : Target::PROGRAM;
        work.allowed = true;
        work.domain = static_cast<std::uint8_t>(work.request.kernel ? cab::KERNEL : cab_.protection_.current);
        return work;
    }

    Cab& cab_;
    Processor& cpu_;
    const std::uint32_t words_;
    std::uint32_t taken_;
    std::uint32_t made_;  // words that the memory has had
    const bool writes_, is_data_;
    Memory& memory_;
    const std::uint32_t base_;
    bool driven_, held_, spare_, at_work_, ended_, done_;  // whether a word is there
    bool asked_ = false;  // one comes to the memory in this cycle
};

// edge() again and again, but for what stays as it is: accesses but those of a block, and what interrupts tell.
template <typename Block>
std::int64_t Cab::pass(Port& port, Block block, std::int64_t time, std::int64_t period, std::int64_t edges) {
    constexpr bool MOVES = !std::is_same_v<Block, std::nullptr_t>;
    std::int64_t awake = 0;
    bool idle = idle_;
    bool ready = held_.tx_ready;
    int symbol = held_.rx_valid ? held_.rx_payload : -1;
    for (std::int64_t left = edges; left > 0; --left) {
        if (out_.valid & port.ready) port.send_known(time);
        time += period;
        port.ready = port.last_start <= time;
        const int arrives = port.first <= time ? port.receive() : -1;
        awake += !idle || symbol >= 0 || arrives >= 0;
        unsigned wants = (in_.writer.waits ? FIBER_IN : 0) | (out_.fetches() ? FIBER_OUT : 0);
        if constexpr (MOVES) {
            block->edge();
            if (block->wants()) wants |= CPU;
        }
        const unsigned given = wants ? arbitrate(wants) : 0;
        ++slot_;
        const bool stores = given & FIBER_IN && in_.writer.select;
        if (given & FIBER_IN) data_.write(in_.writer.word_address, in_.writer.data, in_.writer.select);
        if constexpr (MOVES) block->move(given & CPU);
        Errors errors;
        out_.edge(write_, data_.words(), given & FIBER_OUT, ready, false);
        in_.edge(write_, read_, given & FIBER_IN, symbol, errors);
        if (!interrupts_.settled()) interrupts_.edge(write_, states(), 0);
        idle = out_.idle && in_.idle && !stores;
        ready = port.ready;
        symbol = arrives;
    }
    timers_.pass(static_cast<std::uint32_t>(edges));
    held_.tx_ready = ready;
    held_.rx_valid = symbol >= 0;
    if (symbol >= 0) held_.rx_payload = static_cast<std::uint16_t>(symbol);
    pins_.rx_valid = held_.rx_valid;
    idle_ = idle;
    return awake;
}

__attribute__((flatten)) std::int64_t Cab::catch_up(Port& port, Processor& cpu, std::int64_t time,
                                                    std::int64_t period, std::int64_t edges) {
    if (!cpu.moves_block()) return pass(port, nullptr, time, period, edges);
    BlockMover block(*this, cpu);
    pass(port, &block, time, period, edges);
    block.leave();
    return edges;
}

bool Cab::minds(std::uint32_t address) const {
    address &= ~3u;
    if (address - region::DATA < region::DATA_BYTES) return out_.area().meets({address - region::DATA, 4});
    if (address - region::PROGRAM < region::PROGRAM_BYTES) return false;
    switch (address) {
        case reg::IRQ_PENDING:
        case reg::IRQ_ENABLE:
        case reg::RX_RELEASE:
        case reg::RX_ADDRESS:
        case reg::TX_COMMAND:
        case reg::TX_SYMBOL:
        case reg::TX_ADDRESS:
        case reg::TX_AREA: return false;
        default: return true;
    }
}

// The part that has not been read of the area that is being sent.
Place FiberOut::area() const { return {address_, state_ == State::NEXT ? 0 : remaining_}; }

// The bytes that leave next: those that wait for the fiber, those of words that were read, and those that will be read,
// but for the last four. Behind them may come something else than bytes.
std::size_t FiberOut::ahead(const std::uint32_t* memory, std::uint16_t* symbols, std::size_t most) const {
    constexpr std::size_t KEPT = 4;
    const std::uint32_t untold = threshold > progress_ ? threshold - progress_ - 1 : LENGTH_MASK - progress_;
    most = std::min<std::size_t>(most, untold);
    if (most <= KEPT + 2) return 0;
    most += KEPT;
    std::size_t count = 0;
    symbols[count++] = front_.symbol;
    if (spare_valid_) symbols[count++] = spare_.symbol;
    const auto add = [&](std::uint32_t word, unsigned first, unsigned last) {
        for (unsigned lane = first; lane <= last && count < most; ++lane) {
            symbols[count++] = word >> (24 - 8 * lane) & 0xFF;
        }
    };
    bool plain = true;
    add(item_.word, item_.first, item_.last);
    for (unsigned n = 0; n < items_.level() && count < most; ++n) {
        const Item& item = items_.at(n);
        plain = item.lanes && !(item.prefix | item.command | item.crc | item.end | item.notify);
        if (!plain) break;
        add(item.word, item.first, item.last);
    }
    if (plain && state_ != State::NEXT && !(flags_ & reg::TX_AREA_START)) {
        const std::uint32_t end = address_ + std::max(remaining_, 4u) - 4;
        for (std::uint32_t at = address_; at < end && count < most; at = (at | 3) + 1) {
            add(memory[at / 4], at & 3, std::min(end - 1 - (at & ~3u), 3u));
        }
    }
    return count > KEPT ? count - KEPT : 0;
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
            // The next packet waits for software to take the last one.
            bytes = received_ && !(mode & reg::RX_MODE_DIRECT) && head_ != visible_ &&
                    (ring_[head_ % RING] & 0x1FF) == static_cast<std::uint16_t>(Control::START);
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
    for (std::uint32_t n = 0; n < level && n < edges; ++n) {
        if (ring_[(head_ + n) % RING] >= CONTROL_BIT) edges = n;
    }
    bytes = true;
    return edges;
}

// Whether a byte of the packet may be stored there.
bool FiberIn::stores_at(const Place& place) const {
    return place.length && (writer.stores_at(place) || scatter.stores_at(place));
}

}  // namespace nectar::fast
