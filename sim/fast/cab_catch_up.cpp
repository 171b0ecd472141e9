// How a fast CAB catches up with the edges at which it was left alone. docs/naps.md.
#include "cab.h"
#include "cab_flow.h"
#include "port.h"
#include "processor.h"

#include <algorithm>
#include <cstddef>
#include <optional>

namespace nectar::fast {

// The words of a block access on their way: from the CPU's pins to a register, to the memory, where one more may wait
// in front of it, and back.
class Cab::BlockMover {
  public:
    // Edges at which the CPU does not get data memory; the first of all counts as 0.
    struct Lost {
        std::int32_t last = -1, before = -1, count = 0;

        void add(std::int32_t edge) {
            before = last;
            last = edge;
            ++count;
        }
        bool has(std::int32_t edge) const { return last == edge || before == edge; }
    };

    BlockMover(Cab& cab, Processor& cpu)
        : cab_(cab), cpu_(cpu), taken_(cpu.taken()), made_(cpu.answered() + cab.done_ + cab.ended_),
          writes_(cab.pins_.write), driven_(cab.pins_.valid), held_(cab.held_.valid), spare_(cab.spare_held_),
          at_work_(cab.at_work_), ended_(cab.ended_), done_(cab.done_) {
        look();
    }

    // At an edge, first: what the CPU does.
    void edge() {
        if (done_) cpu_.answer(cab_.read_data_);
        if (driven_ && !spare_) driven_ = ++taken_ < words_;
        if (cpu_.answered() == words_) follow();
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

    // For how many edges words are all the way from the CPU to the memory, and none there is the first or the last one.
    std::int32_t most() const {
        if (!(driven_ & held_ & at_work_) || !made_) return 0;
        return static_cast<std::int32_t>(words_ - taken_) - 1;
    }
    // What it has not been answered yet.
    Place rest() const { return {4 * place(cpu_.answered()), 4 * (words_ - cpu_.answered())}; }
    bool is_data() const { return is_data_; }
    // At so many of these edges, two or more.
    void pass(std::int32_t edges, const Lost& lost) {
        const auto moves = static_cast<std::uint32_t>(edges - lost.count);
        const bool last = !lost.has(edges - 1), before = !lost.has(edges - 2);
        if (done_) cpu_.keep(cpu_.answered(), cab_.read_data_);
        if (ended_) cpu_.keep(cpu_.answered() + done_, cab_.word_);
        cpu_.answer_kept(done_ + ended_ + moves - last - before);
        taken_ += ended_ + moves - last;
        done_ = before;
        ended_ = last;
        spare_ = !last;
        std::uint32_t* at = &(*memory_)[place(made_)];
        for (const std::uint32_t end = made_ + moves; made_ != end; ++made_, ++at) {
            writes_ ? void(*at = cpu_.whole(made_)) : cpu_.keep_whole(made_, *at);
        }
        cab_.word_ = writes_ ? 0 : at[-1];
        cab_.read_data_ = writes_ ? 0 : at[-1 - last];
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
        const Processor::Word word = cpu_.word(made_);
        if (writes_) memory_->write(place(made_), word.data, word.select);
        cab_.word_ = writes_ ? 0 : (*memory_)[place(made_)];
        ++made_;
    }
    // The next block begins.
    void follow() {
        cpu_.follow();
        taken_ = made_ = 0;
        driven_ = true;
        look();
    }
    // Where the block is, by the first word that is not answered; the words before may be in the other memory.
    void look() {
        const std::uint32_t address = cpu_.word(cpu_.answered()).address;
        words_ = cpu_.words();
        is_data_ = address - region::DATA < region::DATA_BYTES;
        memory_ = is_data_ ? &cab_.data_ : &cab_.program_;
        first_ = (address - (is_data_ ? region::DATA : region::PROGRAM)) / 4 - cpu_.answered();
    }
    // Where a word is in the memory.
    std::uint32_t place(std::uint32_t number) const { return first_ + number; }
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
    std::uint32_t words_ = 0;
    std::uint32_t taken_;
    std::uint32_t made_;  // words that the memory has had
    const bool writes_;
    bool is_data_ = false;
    Memory* memory_ = nullptr;
    std::uint32_t first_ = 0;  // place(0)
    bool driven_, held_, spare_, at_work_, ended_, done_;  // whether a word is there
    bool asked_ = false;  // one comes to the memory in this cycle
};

// What fiber in and fiber out do at the first of these edges, and a block access, where only the edges matter at which
// somebody wants data memory. Returns at how many; 0 if something else happens, or at too few edges.
std::int32_t Cab::flow(Port& port, BlockMover* block, Wire& wire, Edges edges) {
    if (!interrupts_.settled()) return 0;
    const bool sends = !out_.idle;
    if (sends) edges.count = FiberOut::Flow::most(out_, edges.count);
    if (block) {
        edges.count = std::min(edges.count, block->most());
        // Nobody else writes or reads there.
        if (block->is_data() && (in_.stores_at(block->rest()) || out_.area().meets(block->rest()))) return 0;
    }
    edges.count = FiberIn::Flow::most(in_, port, wire.symbol, edges);
    if (edges.count < LEAST_FLOW) return 0;
    FiberIn::Flow in(in_, port, wire.symbol, edges, sends || block);
    if (!edges.count) return 0;
    std::optional<FiberOut::Flow> out;
    if (sends) out.emplace(out_, port, edges);

    // Words may be stored and fetched at once before this edge, since their own edges are forgotten at the end; unless
    // words are fetched that have just been stored.
    constexpr std::int32_t SETTLING = 8;
    const std::int32_t until = sends && in_.stores_at(out_.area()) ? 0 : edges.count - SETTLING;
    const unsigned cpu = block && block->is_data() ? CPU : 0;
    BlockMover::Lost lost;
    const auto next_store = [&] {
        const std::int32_t words = !sends || out->is_steady() ? in.store_until(&data_[0], until) : 0;
        if (cpu) lost.count += words;
        return in.next_word();
    };
    const auto next_fetch = [&] {
        const std::int32_t edge = out->next_fetch();
        const std::int32_t words = out->is_steady() ? out->fetch_until(data_.words(), until) : 0;
        if (cpu) lost.count += words;
        return words ? out->next_fetch() : edge;
    };
    // The edges from which on fiber in and fiber out want it, and the last one at which a word was stored.
    std::int32_t stores = in_.writer.waits ? 0 : next_store();
    std::int32_t fetches = sends ? next_fetch() : NO_EDGE;
    std::int32_t stored = -1;
    while (std::min(stores, fetches) < edges.count) {
        const std::int32_t edge = std::min(stores, fetches);
        const unsigned wants = (stores == edge ? FIBER_IN : 0) | (fetches == edge ? FIBER_OUT : 0);
        const unsigned given = arbitrate(wants | cpu, slot_ + static_cast<std::uint32_t>(edge));
        if (given & FIBER_IN) {
            data_.write(in_.writer.word_address, in_.writer.data, in_.writer.select);
            in_.writer.waits = false;
            stored = edge;
            stores = next_store();
        } else if (wants & FIBER_IN) {
            ++stores;
        }
        if (given & FIBER_OUT) {
            out->fetch(data_.words(), edge);
            fetches = next_fetch();
        } else if (wants & FIBER_OUT) {
            ++fetches;
        }
        if (cpu & ~given) lost.add(edge);
    }
    if (block) block->pass(edges.count, lost);
    wire.symbol = in.leave();
    if (sends) {
        wire.ready = out->leave();
    } else {
        wire.ready = port.ready = port.last_start <= edges.time + edges.count * edges.period;
    }
    wire.idle = out_.idle && in_.idle && stored != edges.count - 1;
    slot_ += static_cast<std::uint32_t>(edges.count);
    return edges.count;
}

// edge() at `time`, but for what stays as it is: accesses but those of a block, and what interrupts tell. Returns
// whether the board would not have slept.
bool Cab::pass(Port& port, BlockMover* block, Wire& wire, std::int64_t time, std::int64_t period) {
    if (out_.valid & port.ready) port.send_known(time);
    port.ready = port.last_start <= time + period;
    const int arrives = port.first <= time + period ? port.receive() : -1;
    const bool awake = !wire.idle || wire.symbol >= 0 || arrives >= 0;
    unsigned wants = (in_.writer.waits ? FIBER_IN : 0) | (out_.fetches() ? FIBER_OUT : 0);
    if (block) {
        block->edge();
        if (block->wants()) wants |= CPU;
    }
    const unsigned given = wants ? arbitrate(wants, slot_) : 0;
    ++slot_;
    const bool stores = given & FIBER_IN && in_.writer.select;
    if (given & FIBER_IN) data_.write(in_.writer.word_address, in_.writer.data, in_.writer.select);
    if (block) block->move(given & CPU);
    Errors errors;
    out_.edge(write_, data_.words(), given & FIBER_OUT, wire.ready, false);
    in_.edge(write_, read_, given & FIBER_IN, wire.symbol, errors);
    if (!interrupts_.settled()) interrupts_.edge(write_, states(), 0);
    wire = {port.ready, arrives, out_.idle && in_.idle && !stores};
    return awake;
}

std::int64_t Cab::catch_up(Port& port, BlockMover* block, std::int64_t time, std::int64_t period, std::int64_t edges) {
    std::int64_t awake = 0;
    Wire wire{held_.tx_ready != 0, held_.rx_valid ? held_.rx_payload : -1, idle_ != 0};
    // Edges before flow() is asked again.
    constexpr std::int64_t PAUSE = 3;
    std::int64_t pause = 0;
    for (std::int64_t left = edges; left > 0;) {
        if (pause <= 0 && left >= LEAST_FLOW) {
            const auto most = static_cast<std::int32_t>(std::min<std::int64_t>(left, NO_EDGE));
            const std::int32_t many = flow(port, block, wire, {time, period, most});
            time += many * period;
            left -= many;
            awake += many;
            if (many) continue;
            pause = PAUSE;
        }
        awake += pass(port, block, wire, time, period);
        time += period;
        --left;
        --pause;
    }
    timers_.pass(static_cast<std::uint32_t>(edges));
    held_.tx_ready = wire.ready;
    held_.rx_valid = wire.symbol >= 0;
    if (wire.symbol >= 0) held_.rx_payload = static_cast<std::uint16_t>(wire.symbol);
    pins_.rx_valid = held_.rx_valid;
    idle_ = wire.idle;
    quiet_ = false;
    return awake;
}

std::int64_t Cab::catch_up(Port& port, Processor& cpu, std::int64_t time, std::int64_t period, std::int64_t edges) {
    if (!cpu.moves_block()) return catch_up(port, nullptr, time, period, edges);
    BlockMover block(*this, cpu);
    catch_up(port, &block, time, period, edges);
    block.leave();
    return edges;
}

}  // namespace nectar::fast
