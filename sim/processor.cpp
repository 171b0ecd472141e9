#include "processor.h"

namespace nectar {

namespace {

bool loads(Op kind) { return kind == Op::READ || kind == Op::READ_BLOCK; }

void fill(std::vector<Operation>& operations, const std::int64_t* words, std::size_t count) {
    operations.resize(count);
    for (Operation& operation : operations) {
        operation = {static_cast<Op>(words[0]), static_cast<std::uint32_t>(words[1]),
                     static_cast<std::uint32_t>(words[2]), static_cast<std::uint32_t>(words[2] >> 32),
                     static_cast<std::uint64_t>(words[3])};
        words += OPERATION_WORDS;
    }
}

}  // namespace

void Processor::give(const std::int64_t* words, std::size_t count, const std::uint8_t* data, std::size_t size) {
    Queue& queue = queues_[level];
    fill(queue.operations, words, count);
    queue.data.assign(data, data + size);
    queue.next = 0;
}

void Processor::attach(bool handler, const std::int64_t* words, std::size_t count) {
    attached_ = handler;
    fill(first_, words, count);
}

Turn Processor::edge(std::int64_t at) {
    if (state_ == State::ABSENT || state_ == State::ENDED) return Turn::NONE;
    at_ = at;
    irq_ = *pins.irq;
    const bool done = *pins.done;
    if (state_ == State::ACCESS) {
        if (done) {
            if (answered_ >= taken_) return fail("the board has answered a request that it has not taken");
            respond();
        }
        if (*pins.valid && *pins.ready) {
            ++taken_;
            drive();
        }
        if (answered_ < words_) return Turn::NONE;
        const Turn turn = finish();
        return turn == Turn::NONE ? proceed() : turn;
    }
    if (done) return fail("the board has answered a request that nobody made");
    if (state_ == State::NEW) return resume(Result::NOTHING);
    if (state_ == State::SPEND && at >= until_) state_ = State::FETCH;
    if (state_ == State::WAIT && handled_) return resume(Result::NOTHING);
    return proceed();
}

Turn Processor::proceed() {
    for (;;) {
        if (irq_ && state_ != State::ENDED && open()) {
            irq_ = false;
            saved_ = state_;
            left_ = until_ > at_ ? until_ - at_ : 0;
            level = INTERRUPT;
            state_ = State::FETCH;
            if (first_.empty()) return Turn::INTERRUPT;
            queues_[INTERRUPT].operations = first_;
            queues_[INTERRUPT].next = 0;
        }
        if (state_ != State::FETCH) return Turn::NONE;
        const Turn turn = fetch();
        if (turn != Turn::NONE) return turn;
    }
}

Turn Processor::fetch() {
    Queue& queue = queues_[level];
    if (queue.next == queue.operations.size()) {  // only when the main coroutine has ended
        if (report()) return Turn::UNHANDLED;
        state_ = State::ENDED;
        return Turn::NONE;
    }
    const Operation operation = queue.operations[queue.next];
    if (operation.kind == Op::RETURN && report()) return Turn::UNHANDLED;
    ++queue.next;
    if (awaited(operation.kind) && queue.failed) return resume(Result::NOTHING);
    switch (operation.kind) {
        case Op::SPEND:
            if (operation.value) {
                until_ = at_ + static_cast<std::int64_t>(operation.value);
                state_ = State::SPEND;
            }
            return Turn::NONE;
        case Op::MODE:
            supervisor_ = operation.value;
            return Turn::NONE;
        case Op::MASK:
            masked_ = operation.value;
            return Turn::NONE;
        case Op::NOTE:
            if (recorder_) recorder_->note(place_, operation.address, operation.size, operation.value, operation.more);
            return Turn::NONE;
        case Op::RETURN:
            level = THREAD;
            handled_ |= !operation.value;
            irq_ = false;
            state_ = State::FETCH;
            if (saved_ == State::WAIT) {
                if (handled_) return resume(Result::NOTHING);
                state_ = State::WAIT;
            }
            if (saved_ == State::SPEND && left_) {
                until_ = at_ + left_;
                state_ = State::SPEND;
            }
            return Turn::NONE;
        case Op::NOW: return resume(Result::NUMBER, static_cast<std::uint64_t>(at_));
        case Op::WAIT:
            if (level == INTERRUPT) {
                return fail("an interrupt handler cannot wait for an interrupt: it holds all of them off");
            }
            if (handled_) return resume(Result::NOTHING);
            state_ = State::WAIT;
            return Turn::NONE;
        case Op::READ_BLOCK:
            if (!operation.size) {
                bytes.clear();
                return resume(Result::BYTES);
            }
            [[fallthrough]];
        default: begin(operation); return Turn::NONE;
    }
}

// The software of the level that runs gets a result, or the error that it has not heard of.
Turn Processor::resume(Result what, std::uint64_t value) {
    Queue& queue = queues_[level];
    result = what;
    number = value;
    if (queue.failed) {
        queue.failed = false;
        result = Result::BUS_ERROR;
        error_address = queue.error_address;
        error_write = queue.error_write;
    }
    if (level == THREAD) handled_ = false;
    state_ = State::FETCH;
    return Turn::RESUME;
}

// Whether there is an error that no await of the software is left to hear of; it is told once.
bool Processor::report() {
    Queue& queue = queues_[level];
    if (!queue.failed) return false;
    queue.failed = false;
    error_address = queue.error_address;
    error_write = queue.error_write;
    return true;
}

Turn Processor::fail(const char* text) {
    fault = text;
    halt();
    return Turn::FAULT;
}

void Processor::begin(const Operation& operation) {
    access_ = operation;
    words_ = 1;
    if (is_block(operation.kind)) {
        words_ = words_of(operation);
        bytes.resize(operation.kind == Op::READ_BLOCK ? operation.size : 0);
    }
    taken_ = answered_ = 0;
    state_ = State::ACCESS;
    *pins.write = !loads(operation.kind);
    drive();
}

Processor::Word Processor::word(std::uint32_t number) const {
    const std::uint32_t address = (access_.address & ~3u) + 4 * number;
    unsigned select = 0xF;
    std::uint32_t data = 0;
    if (!is_block(access_.kind)) {
        const unsigned shift = 4 - access_.size - (access_.address & 3);
        select = ((1u << access_.size) - 1) << shift;
        if (access_.kind == Op::WRITE) {
            const std::uint64_t mask = (std::uint64_t{1} << 8 * access_.size) - 1;
            data = static_cast<std::uint32_t>((access_.value & mask) << 8 * shift);
        }
    } else {
        const std::uint32_t end = access_.address + access_.size;
        if (address >= access_.address && address + 4 <= end) {
            if (access_.kind == Op::WRITE_BLOCK) data = whole(number);
            return {address & pins.address_mask, data, 0xF};
        }
        if (address < access_.address) select &= 0xF >> (access_.address - address);
        if (address + 4 > end) select &= 0xF << (address + 4 - end);
        if (access_.kind == Op::WRITE_BLOCK) {
            const std::uint8_t* from = queues_[level].data.data() + access_.value;
            for (unsigned i = 0; i < 4; ++i) {
                if (select & (8 >> i)) data |= std::uint32_t{from[address + i - access_.address]} << (24 - 8 * i);
            }
        }
    }
    return {address & pins.address_mask, data, static_cast<std::uint8_t>(select)};
}

// Drives the next word of the access, or nothing when all have been taken.
void Processor::drive() {
    if (pins.left) *pins.left = words_ - taken_;
    if (taken_ == words_) {
        *pins.valid = 0;
        return;
    }
    const Word next = word(taken_);
    *pins.address = next.address;
    *pins.select = next.select;
    *pins.write_data = next.data;
    *pins.kernel = level == INTERRUPT || supervisor_;
    *pins.valid = 1;
}

// A response to the oldest word that waits for one.
void Processor::respond() {
    if (*pins.error) {
        Queue& queue = queues_[level];
        if (!queue.failed) {
            const std::uint32_t address = (access_.address & ~3u) + 4 * answered_;
            queue.failed = true;
            queue.error_address = address > access_.address ? address : access_.address;
            queue.error_write = !loads(access_.kind);
        }
    }
    answer(*pins.read_data);
}

void Processor::keep(std::uint32_t number, std::uint32_t data) {
    if (access_.kind != Op::READ_BLOCK) return;
    const std::uint32_t from = 4 * number - (access_.address & 3);
    if (number && number + 1 < words_) return keep_whole(number, data);
    for (unsigned i = 0; i < 4; ++i) {
        if (from + i < access_.size) bytes[from + i] = static_cast<std::uint8_t>(data >> (24 - 8 * i));
    }
}

// The last response is in.
Turn Processor::finish() {
    state_ = State::FETCH;
    if (access_.kind == Op::READ) {
        const unsigned shift = 8 * (4 - access_.size - (access_.address & 3));
        const std::uint64_t mask = (std::uint64_t{1} << 8 * access_.size) - 1;
        return resume(Result::NUMBER, word_ >> shift & mask);
    }
    return access_.kind == Op::READ_BLOCK ? resume(Result::BYTES) : Turn::NONE;
}

}  // namespace nectar
