// How a fast CAB catches up with the edges at which it was left alone. docs/naps.md.
#include "cab.h"
#include "cab_flow.h"
#include "port.h"
#include "processor.h"

#include <algorithm>
#include <cstddef>
#include <optional>

namespace nectar::fast {

// Words of a block access that are all the way from the CPU to a memory, none of which is the first or the last one:
// one moves at each edge at which the CPU gets the memory.
class Cab::BlockRun {
  public:
    BlockRun(Cab& cab, Processor& cpu)
        : cab_(cab), cpu_(cpu), taken_(cpu.taken()), made_(cpu.answered() + cab.done_ + cab.ended_),
          writes_(cab.pins_.write), is_data_(cab.work_.target == Target::DATA),
          memory_(is_data_ ? cab.data_ : cab.program_) {
        const std::uint32_t address = cpu.word(made_).address;
        first_ = (address - (is_data_ ? region::DATA : region::PROGRAM)) / 4 - made_;
    }

    // At how many edges words move; 0: something else happens.
    static std::int32_t most(const Cab& cab, const Processor& cpu) {
        const bool moves = cpu.moves_block() && cab.pins_.valid & cab.held_.valid & cab.at_work_;
        if (!moves || (cab.work_.target != Target::DATA && cab.work_.target != Target::PROGRAM)) return 0;
        // The first word may still be behind an access to something else.
        if (!(cpu.answered() + cab.done_ + cab.ended_) || !cab.interrupts_.settled()) return 0;
        return static_cast<std::int32_t>(cpu.words() - cpu.taken()) - 1;
    }
    bool is_data() const { return is_data_; }
    // Data memory is given to somebody else at this edge, counted from the first one; for so many words before.
    void lose(std::int32_t edge) {
        before_ = last_;
        last_ = edge;
        ++lost_;
    }
    void lose_words(std::int32_t words) { lost_ += words; }

    // So many edges, two or more, are over.
    void pass(std::int32_t edges) {
        const auto moves = static_cast<std::uint32_t>(edges - lost_);
        const auto moved_at = [&](std::int32_t edge) { return last_ != edge && before_ != edge; };
        const bool last = moved_at(edges - 1), before = moved_at(edges - 2);
        if (cab_.done_) cpu_.keep(cpu_.answered(), cab_.read_data_);
        if (cab_.ended_) cpu_.keep(cpu_.answered() + cab_.done_, cab_.word_);
        cpu_.answer_kept(cab_.done_ + cab_.ended_ + moves - last - before);
        taken_ += cab_.ended_ + moves - last;
        std::uint32_t* at = &memory_[first_ + made_];
        for (const std::uint32_t end = made_ + moves; made_ != end; ++made_, ++at) {
            writes_ ? void(*at = cpu_.whole(made_)) : cpu_.keep_whole(made_, *at);
        }
        cab_.word_ = writes_ ? 0 : at[-1];
        cab_.read_data_ = writes_ ? 0 : at[-1 - last];
        cpu_.take(taken_);
        Inputs& held = cab_.held_;
        held.write = writes_;
        held.kernel = cab_.pins_.kernel;
        held.select = cab_.pins_.select;
        held.address = cab_.pins_.address;
        held.write_data = cab_.pins_.write_data;
        if (last) cab_.last_ = work(made_ - 1);
        cab_.work_ = work(made_);
        if (!last) cab_.spare_ = work(made_ + 1).request;
        cab_.ended_ = cab_.stored_ = last;
        cab_.spare_held_ = !last;
        cab_.ready_ = last;
        cab_.done_ = before;
        if (before) cab_.error_ = 0;
        cab_.last_failed_ = false;
    }

  private:
    Work work(std::uint32_t number) const {
        const Processor::Word word = cpu_.word(number);
        Work work = cab_.work_;
        work.request = {word.address, word.data, word.select, writes_, cab_.pins_.kernel != 0};
        return work;
    }

    Cab& cab_;
    Processor& cpu_;
    std::uint32_t taken_;
    std::uint32_t made_;  // words that the memory has had
    const bool writes_, is_data_;
    Memory& memory_;
    std::uint32_t first_ = 0;  // where word 0 is
    std::int32_t last_ = -1, before_ = -1, lost_ = 0;  // the last two edges that were lost, and how many
};

// CPU and bus at the edges of a flow, which count from 0. They are evaluated when that matters: as far as they want no
// data memory, and when it is given to somebody.
class Cab::BusFlow {
  public:
    // `before`: the CPU's number of the edge before the first one.
    BusFlow(Cab& cab, Processor& cpu, std::int64_t before, std::int32_t edges)
        : cab_(cab), cpu_(cpu), before_(before), edges_(edges) {}

    // At all edges before this one nobody else wants data memory, but at those that are over.
    void go(std::int32_t until) {
        while (at_ < until) {
            if (run_) {
                if (until < run_end_) return;
                leave_run(run_end_);
            } else if (!pause(until) && !begin_run()) {
                evaluate(true);
            }
        }
    }
    // Whether it is wanted at this edge, which is the next.
    bool wants(std::int32_t edge) {
        if (!run_ && at_ == edge) begin_run();
        return run_ ? run_->is_data() : at_ == edge && wants_data();
    }
    // Then.
    void give(std::int32_t edge, bool given) {
        if (!run_) {
            evaluate(given);
        } else if (!given) {
            run_->lose(edge - at_);
            ++run_end_;
        }
    }
    // An edge up to which it is wanted at each edge behind this one, or at none. Words that are given to others at once
    // before that are told.
    std::int32_t steady_until(std::int32_t edge) {
        while (!run_ && at_ < edges_ && !wants_data()) {
            if (!pause(edges_) && !begin_run()) evaluate(true);
        }
        return run_ && at_ <= edge + 1 ? run_end_ : at_;
    }
    void lose_words(std::int32_t words) {
        if (!run_ || !run_->is_data() || !words) return;
        run_->lose_words(words);
        run_end_ += words;
    }
    // In the end.
    void leave() {
        go(edges_);
        if (run_) leave_run(edges_);
        cab_.find_streams();
    }

  private:
    // A run of fewer edges is none.
    static constexpr std::int32_t LEAST_RUN = 4;

    bool wants_data() const { return cab_.at_work_ && cab_.work_.target == Target::DATA; }
    void evaluate(bool given) {
        cpu_.edge(before_ + 1 + at_);
        cab_.edge_of_bus(given);
        ++at_;
    }
    // Leaves out edges at which nothing happens.
    bool pause(std::int32_t until) {
        if (!cab_.bus_rests()) return false;
        const std::int64_t due = cpu_.due(before_ + at_);
        if (due <= before_ + 1 + at_) return false;
        cab_.find_streams();
        cab_.stored_ = false;
        at_ = static_cast<std::int32_t>(std::min<std::int64_t>(until, due == NEVER ? until : due - before_ - 1));
        return true;
    }
    bool begin_run() {
        const std::int32_t most = std::min(BlockRun::most(cab_, cpu_), edges_ - at_);
        if (most < LEAST_RUN) return false;
        run_.emplace(cab_, cpu_);
        run_end_ = at_ + most;
        return true;
    }
    void leave_run(std::int32_t end) {
        run_->pass(end - at_);
        run_.reset();
        at_ = end;
    }

    Cab& cab_;
    Processor& cpu_;
    const std::int64_t before_;
    const std::int32_t edges_;
    std::int32_t at_ = 0;       // the first edge at which they have not been evaluated
    std::optional<BlockRun> run_;  // that begins there
    std::int32_t run_end_ = 0;
};

// Whether CPU and bus do nothing at the next edge if no access begins.
bool Cab::bus_rests() const {
    const bool works = at_work_ | spare_held_ | ended_ | done_ | settling_ | held_.valid | pins_.valid;
    return !works && interrupts_.settled();
}

// For how many edges behind the one at `at`, if not for `most`, no access of the CPU meets anything of the fibers;
// `lists`: one of those that come by then adds to the list of what is sent.
std::int64_t Cab::apart(const Processor& cpu, std::int64_t at, std::int64_t most, bool& lists) const {
    const auto lets = [&](const Operation& access) { return is_apart(access, lists); };
    const std::int64_t edges = cpu.foresee(at, most, lets);
    return edges == NEVER ? edges : edges - 1;
}

bool Cab::is_apart(const Operation& access, bool& lists) const {
    const bool writes = access.kind == Op::WRITE || access.kind == Op::WRITE_BLOCK;
    const bool block = access.kind == Op::READ_BLOCK || access.kind == Op::WRITE_BLOCK;
    const std::uint32_t address = access.address & ~3u;
    const std::uint32_t length = block ? 4 * Processor::words_of(access) : 4;
    const Place place{address - region::DATA, length};
    if (place.address < region::DATA_BYTES) return !in_.stores_at(place) && !out_.reads(place);
    if (address - region::PROGRAM < region::PROGRAM_BYTES) return true;
    // What these registers read as stays as it is while bytes flow, but for the last one. The last word that is read in
    // a nap is read at its last edge, which is in no flow.
    if (!writes) return address >= reg::IRQ_PENDING && address + length <= reg::TX_STATUS + 4;
    switch (address) {
        case reg::TX_COMMAND:
        case reg::TX_SYMBOL:
        case reg::TX_AREA: lists = true; [[fallthrough]];
        case reg::IRQ_PENDING:
        case reg::IRQ_ENABLE:
        case reg::TX_ADDRESS:
        case reg::RX_ADDRESS: return !block;
        default: return false;
    }
}

// What fiber in and fiber out do at the first of these edges, with CPU and bus, where only the edges matter at which
// somebody wants data memory. Returns at how many; 0 if something else happens, or at too few edges.
std::int32_t Cab::flow(Port& port, Processor& cpu, std::int64_t before, Wire& wire, Edges edges) {
    const bool pauses = bus_rests() && cpu.due(before) > before + edges.count;
    bool lists = false;
    if (!pauses) {
        const std::int64_t most = apart(cpu, before, edges.count, lists);
        edges.count = static_cast<std::int32_t>(std::min<std::int64_t>(edges.count, most));
    }
    const bool sends = !out_.idle;
    // Where nothing leaves, the board may sleep at an edge at which the CPU does nothing.
    const auto busy = static_cast<std::int32_t>(sends ? 0 : cpu.busy(edges.count));
    const bool moves = busy >= LEAST_FLOW;
    if (moves) edges.count = busy;
    if (sends && edges.count >= LEAST_FLOW) edges.count = FiberOut::Flow::most(out_, port, edges, lists);
    if (edges.count >= LEAST_FLOW) edges.count = FiberIn::Flow::most(in_, port, wire.symbol, edges);
    if (edges.count < LEAST_FLOW) return 0;
    FiberIn::Flow in(in_, port, wire.symbol, edges, sends || moves);
    if (!edges.count) return 0;
    std::optional<FiberOut::Flow> out;
    if (sends) out.emplace(out_, port, edges);
    std::optional<BusFlow> bus;
    if (!pauses) bus.emplace(*this, cpu, before, edges.count);

    // Words may be stored and fetched at once so many edges before anything else comes of memory, since their own edges
    // are forgotten at the end; unless words are fetched that have just been stored.
    constexpr std::int32_t SETTLING = 8;
    const bool at_once = !(sends && stores_what_it_sends());
    const auto until = [&](std::int32_t edge) {
        if (!at_once) return 0;
        return std::min(edges.count, bus ? bus->steady_until(edge) : NO_EDGE) - SETTLING;
    };
    const auto next_store = [&](std::int32_t edge) {
        const std::int32_t words = !sends || out->is_steady() ? in.store_until(&data_[0], until(edge)) : 0;
        if (bus) bus->lose_words(words);
        return in.next_word();
    };
    const auto next_fetch = [&](std::int32_t edge) {
        const std::int32_t next = out->next_fetch();
        const std::int32_t words = out->is_steady() ? out->fetch_until(data_.words(), until(edge)) : 0;
        if (bus) bus->lose_words(words);
        return words ? out->next_fetch() : next;
    };
    // The edges from which on fiber in and fiber out want it, and the last one at which a word was stored.
    std::int32_t stores = in_.writer.waits ? 0 : next_store(-1);
    std::int32_t fetches = sends ? next_fetch(-1) : NO_EDGE;
    std::int32_t stored = -1;
    for (std::int32_t edge; (edge = std::min(stores, fetches)) < edges.count;) {
        if (bus) bus->go(edge);
        const unsigned cpus = bus && bus->wants(edge) ? CPU : 0;
        const unsigned wants = (stores == edge ? FIBER_IN : 0) | (fetches == edge ? FIBER_OUT : 0);
        const unsigned given = arbitrate(wants | cpus, slot_ + static_cast<std::uint32_t>(edge));
        if (cpus) bus->give(edge, given & CPU);
        if (given & FIBER_IN) {
            data_.write(in_.writer.word_address, in_.writer.data, in_.writer.select);
            in_.writer.waits = false;
            stored = edge;
            stores = next_store(edge);
        } else if (wants & FIBER_IN) {
            ++stores;
        }
        if (given & FIBER_OUT) {
            out->fetch(data_.words(), edge);
            fetches = next_fetch(edge);
        } else if (wants & FIBER_OUT) {
            ++fetches;
        }
    }
    if (bus) bus->leave();
    wire.symbol = in.leave();
    if (sends) {
        wire.ready = out->leave();
    } else {
        wire.ready = port.ready = port.last_start <= edges.time + edges.count * edges.period;
    }
    wire.idle = out_.idle && in_.idle && stored != edges.count - 1 && (!bus || (streams_ && !stored_));
    slot_ += static_cast<std::uint32_t>(edges.count);
    return edges.count;
}

// edge() at `time`, but for what stays as it is: CPU and bus, and what interrupts tell. Returns whether the board would
// not have slept.
bool Cab::pass(Port& port, Wire& wire, std::int64_t time, std::int64_t period) {
    if (out_.valid & port.ready) port.send_known(time);
    port.ready = port.last_start <= time + period;
    const int arrives = port.first <= time + period ? port.receive() : -1;
    const bool awake = !wire.idle || wire.symbol >= 0 || arrives >= 0;
    const unsigned wants = (in_.writer.waits ? FIBER_IN : 0) | (out_.fetches() ? FIBER_OUT : 0);
    const unsigned given = wants ? arbitrate(wants, slot_) : 0;
    ++slot_;
    const bool stores = given & FIBER_IN && in_.writer.select;
    if (given & FIBER_IN) data_.write(in_.writer.word_address, in_.writer.data, in_.writer.select);
    Errors errors;
    out_.edge(write_, data_.words(), given & FIBER_OUT, wire.ready, false);
    in_.edge(write_, read_, given & FIBER_IN, wire.symbol, errors);
    if (!interrupts_.settled()) interrupts_.edge(write_, states(), 0);
    wire = {port.ready, arrives, out_.idle && in_.idle && !stores};
    return awake;
}

std::int64_t Cab::catch_up(Port& port, Processor& cpu, std::int64_t before, std::int64_t time, std::int64_t period,
                           std::int64_t edges, std::int64_t& awake) {
    if (symbols_arrive(CONTROL_BIT)) return 0;
    bool bytes = false;
    edges = std::min<std::int64_t>(edges, std::int64_t{in_.calm(bytes)} - 1);
    if (!bytes && symbols_arrive(0)) return 0;
    const std::int64_t arrival = port.first_control(!bytes);
    if (arrival != NEVER) edges = std::min(edges, (arrival - time - 1) / period);
    if (edges < LEAST_FLOW) return 0;
    Wire wire{held_.tx_ready != 0, held_.rx_valid ? held_.rx_payload : -1, idle_ != 0};
    // Edges before flow() is asked again.
    constexpr std::int64_t PAUSE = 3;
    std::int64_t pause = 0, done = 0;
    while (done < edges) {
        if (pause <= 0 && edges - done >= LEAST_FLOW) {
            const auto most = static_cast<std::int32_t>(std::min<std::int64_t>(edges - done, FiberIn::Flow::MOST));
            const std::int32_t many = flow(port, cpu, before + done, wire, {time + done * period, period, most});
            done += many;
            awake += many;
            if (many) continue;
            pause = PAUSE;
        }
        if (!streams_ || held_.valid || pins_.valid || cpu.due(before + done) <= before + done + 1) break;
        awake += pass(port, wire, time + done * period, period);
        ++done;
        --pause;
    }
    timers_.pass(static_cast<std::uint32_t>(done));
    held_.tx_ready = wire.ready;
    held_.rx_valid = wire.symbol >= 0;
    if (wire.symbol >= 0) held_.rx_payload = static_cast<std::uint16_t>(wire.symbol);
    pins_.rx_valid = held_.rx_valid;
    idle_ = wire.idle;
    quiet_ = false;
    return done;
}

}  // namespace nectar::fast
