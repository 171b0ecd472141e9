// A CAB of the RTL and the fast one, pin by pin: both get the same random inputs, and must show the same outputs in
// every cycle.
//
//     cab_lockstep cab|vmecab SEED CYCLES
//
// Prints one line of JSON, with the host's time for an evaluation of each; at a difference the cycles around it, and
// the exit code is 1.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <iterator>
#include <string>
#include <vector>

#include "cab_traffic.h"
#include "fast/kinds.h"
#include "vme.h"

namespace {

using namespace nectar;

constexpr unsigned MOOD_CYCLES = 3000;
constexpr std::size_t HISTORY = 60;
constexpr unsigned SETTLED = 8;                 // cycles behind a reset before the node begins something
constexpr unsigned BEHIND = 12;                 // cycles that are run behind a difference
constexpr std::size_t REPLAYED = 100'000;  // cycles

struct Shown {
    const char* name;
    std::uint32_t values[2];
};

// A node's bus at a board, and what its CPU sees of it.
struct NodeBus {
    VmeBus bus;
    CpuPins cpu;

    explicit NodeBus(const VmePins& pins) : bus(pins, prototype::CAB_PERIOD_PS), cpu(bus.cpu()) {}
};

class Lockstep {
  public:
    Lockstep(const Kind& rtl, const Kind& fast, std::uint64_t seed)
        : rtl_(rtl), fast_(fast), traffic_(seed, rtl_.pins.vme.as_n != nullptr) {
        if (!rtl_.pins.vme.as_n) return;
        for (const Side* side : {&rtl_, &fast_}) nodes_.push_back(std::make_unique<NodeBus>(side->pins.vme));
    }

    // Returns whether all outputs were the same in so many cycles. In the last quarter the node has no power.
    bool run(std::uint64_t cycles) {
        for (; cycle_ < cycles; ++cycle_) {
            if (cycle_ == cycles - cycles / 4) {
                for (auto& node : nodes_) node->bus.fail();
            }
            if (!same() && behind_++ == BEHIND) return tell();
            if (cycle_ % MOOD_CYCLES == MOOD_CYCLES - 1) traffic_.new_mood();
            drive();
            rtl_.edge();
            fast_.edge();
            for (auto& node : nodes_) node->bus.settle();
            if (!keeps_to_list()) return false;
        }
        return behind_ == 0 || tell();
    }

    void report() const {
        std::printf("{\"cycles\": %llu, \"accesses\": %llu, \"refused\": %llu, \"symbols_in\": %llu, "
                    "\"symbols_out\": %llu, \"packets_in\": %llu, \"packets_out\": %llu, \"slept\": %llu, "
                    "\"node_accesses\": %llu, \"node_refused\": %llu, \"not_granted\": %llu, \"windows\": %llu, "
                    "\"transfers\": %llu, \"bus_errors\": %llu, \"rtl_ns\": %.1f, \"fast_ns\": %.1f}\n",
                    static_cast<unsigned long long>(cycle_), accesses_, refused_, symbols_in_, symbols_out_,
                    packets_in_, packets_out_, slept_, node_accesses_, node_refused_, not_granted_, windows_,
                    transfers_, bus_errors_,
                    replay(rtl_.kind), replay(fast_.kind));
    }

  private:
    // The inputs of a cycle.
    struct Inputs {
        std::uint32_t address, write_data, slept;
        std::uint16_t symbol;
        std::uint8_t rst, valid, write, kernel, select, rx_valid, tx_ready;

        void give(const Pins& pins) const {
            *pins.rst = rst;
            *pins.cpu.valid = valid;
            *pins.cpu.address = address;
            *pins.cpu.write = write;
            *pins.cpu.kernel = kernel;
            *pins.cpu.select = select;
            *pins.cpu.write_data = write_data;
            *pins.cpu.slept = slept;
            *pins.ports[0].rx_valid = rx_valid;
            *pins.ports[0].rx_payload = symbol;
            *pins.ports[0].tx_ready = tx_ready;
        }
    };

    // Whether the fast CAB lists no more symbols that it sends next than there is room for.
    bool keeps_to_list() const {
        if (!fast_.pins.napper) return true;
        constexpr std::uint16_t FREE = 0xFFFF;
        constexpr std::size_t PLACES = 64, SPARE = 16;
        std::uint16_t list[PLACES];
        std::fill(std::begin(list), std::end(list), FREE);
        const std::size_t most = cycle_ % (PLACES - SPARE);
        const std::size_t many = fast_.pins.napper->ahead(list, most);
        const bool kept = many <= most && std::all_of(list + most, std::end(list), [](auto at) { return at == FREE; });
        if (!kept) std::printf("cycle %llu: more than %zu symbols\n", static_cast<unsigned long long>(cycle_), most);
        return kept;
    }

    // Nanoseconds of the host's processor for an edge of a board that gets the same inputs again.
    double replay(const Kind& kind) const {
        Side side(kind);
        const std::clock_t begun = std::clock();
        for (const Inputs& inputs : given_) {
            inputs.give(side.pins);
            side.edge();
        }
        return 1e9 * static_cast<double>(std::clock() - begun) / CLOCKS_PER_SEC / static_cast<double>(given_.size());
    }

    bool same() {
        const Pins &a = rtl_.pins, &b = fast_.pins;
        const bool done = *a.cpu.done, valid = *a.ports[0].tx_valid;
        const Shown shown[] = {
            {"idle", {*a.idle, *b.idle}},
            {"ready", {*a.cpu.ready, *b.cpu.ready}},
            {"done", {*a.cpu.done, *b.cpu.done}},
            {"error", {done ? *a.cpu.error : 0u, done ? *b.cpu.error : 0u}},
            {"read_data", {done ? *a.cpu.read_data : 0, done ? *b.cpu.read_data : 0}},
            {"irq", {*a.cpu.irq, *b.cpu.irq}},
            {"wake_in", {*a.cpu.wake_in, *b.cpu.wake_in}},
            {"tx_valid", {*a.ports[0].tx_valid, *b.ports[0].tx_valid}},
            {"tx_payload", {valid ? *a.ports[0].tx_payload : 0u, valid ? *b.ports[0].tx_payload : 0u}},
            {"level", {*a.probes.levels[0], *b.probes.levels[0]}},
            {"sending", {*a.probes.channels[0] != 0, *b.probes.channels[0] != 0}},
            {"storing", {*a.probes.channels[1] != 0, *b.probes.channels[1] != 0}},
        };
        char line[1000];
        int length = 0;
        bool equal = true;
        const auto look = [&](const Shown& output) {
            equal = equal && output.values[0] == output.values[1];
            length += std::snprintf(line + length, sizeof line - length, " %s=%x", output.name, output.values[0]);
            if (output.values[0] != output.values[1]) {
                length += std::snprintf(line + length, sizeof line - length, "/%x", output.values[1]);
            }
        };
        for (const Shown& output : shown) look(output);
        if (!nodes_.empty()) {
            look({"moving", {*a.probes.channels[2] != 0, *b.probes.channels[2] != 0}});
            const CpuPins &c = nodes_[0]->cpu, &d = nodes_[1]->cpu;
            look({"dtack", {*a.vme.dtack_pull, *b.vme.dtack_pull}});
            look({"berr", {*a.vme.berr_pull, *b.vme.berr_pull}});
            look({"irq_pull", {*a.vme.irq_pull, *b.vme.irq_pull}});
            look({"bbsy", {*a.vme.bbsy_pull, *b.vme.bbsy_pull}});
            look({"br", {*a.vme.br_pull, *b.vme.br_pull}});
            look({"drives", {*a.vme.as_drive, *b.vme.as_drive}});
            if (*a.vme.as_drive && *b.vme.as_drive) {
                look({"as", {*a.vme.as_n_out, *b.vme.as_n_out}});
                look({"ds", {*a.vme.ds_n_out, *b.vme.ds_n_out}});
                look({"write", {*a.vme.write_n_out, *b.vme.write_n_out}});
                look({"lword", {*a.vme.lword_n_out, *b.vme.lword_n_out}});
                look({"am", {*a.vme.am_out, *b.vme.am_out}});
                look({"address", {*a.vme.address_out, *b.vme.address_out}});
                if (!*a.vme.write_n_out) look({"data", {*a.vme.data_out, *b.vme.data_out}});
                const bool strobed = *a.vme.ds_n_out != 3;
                transfers_ += strobed && !strobed_;
                strobed_ = strobed;
            }
            look({"node_ready", {*c.ready, *d.ready}});
            look({"node_done", {*c.done, *d.done}});
            look({"node_error", {*c.done ? *c.error : 0u, *d.done ? *d.error : 0u}});
            // Behind a reset in the midst of an access nobody drives the data lines.
            if (since_reset_ > SETTLED) {
                look({"node_data", {*c.done ? *c.read_data : 0u, *d.done ? *d.read_data : 0u}});
            }
            length += std::snprintf(line + length, sizeof line - length, " as=%d ds=%d", *a.vme.as_n, *a.vme.ds_n);
        }
        history_.push_back(inputs_ + " |" + line);
        if (history_.size() > HISTORY) history_.pop_front();
        if (!equal && behind_ == 0) differs_ = cycle_;
        return equal && behind_ == 0;
    }

    // Prints the cycles around the difference; false.
    bool tell() const {
        for (const std::string& line : history_) std::printf("%s\n", line.c_str());
        std::printf("the boards differ in cycle %llu\n", static_cast<unsigned long long>(differs_));
        return false;
    }

    void drive() {
        const Pins& seen = rtl_.pins;
        if (*seen.cpu.done && !outstanding_.empty()) {
            traffic_.answered(outstanding_.front(), *seen.cpu.read_data, *seen.cpu.error);
            refused_ += *seen.cpu.error;
            const std::uint32_t address = outstanding_.front().address & 0xFFFFFF;
            windows_ += address >= region::VME && !nodes_.empty();
            if (address == reg::VD_RESULT) {
                not_granted_ += (*seen.cpu.read_data & reg::VD_RESULT_TIMEOUT) != 0;
                bus_errors_ += (*seen.cpu.read_data & reg::VD_RESULT_BERR) != 0;
            }
            outstanding_.pop_front();
        }
        if (*seen.ports[0].tx_valid && ready_) {
            ++symbols_out_;
            packets_out_ += *seen.ports[0].tx_payload == static_cast<std::uint16_t>(Control::END);
        }
        const bool stores = *seen.probes.channels[1];
        packets_in_ += stores && !stores_;
        stores_ = stores;
        const std::uint32_t slept = asleep_ && traffic_.sleeps() ? sleep() : 0;
        slept_ += slept;
        now_ += slept + 1;
        if (!nodes_.empty()) drive_node();
        reset();
        request();
        const int symbol = cycle_ < RESET_EDGES || *rtl_.pins.rst ? -1 : traffic_.symbol();
        symbols_in_ += symbol >= 0;
        ready_ = traffic_.fiber_ready();
        if (symbol >= 0) symbol_ = static_cast<std::uint16_t>(symbol);
        const Inputs inputs{access_.address & 0xFFFFFF, access_.data, slept, symbol_, *rtl_.pins.rst, valid_,
                            access_.write, kernel_, access_.select, symbol >= 0, ready_};
        inputs.give(rtl_.pins);
        inputs.give(fast_.pins);
        if (given_.size() < REPLAYED) given_.push_back(inputs);
        asleep_ = !valid_ && symbol < 0 && !*rtl_.pins.rst && (nodes_.empty() || nodes_[0]->bus.idle());
        char line[200];
        std::snprintf(line, sizeof line, "%llu%s%s", static_cast<unsigned long long>(cycle_ + 1),
                      *rtl_.pins.rst ? " RST" : "", ready_ ? "" : " -");
        inputs_ = line;
        if (!wanted_.empty()) {
            const Access& first = wanted_.front();
            std::snprintf(line, sizeof line, " node %s %x sel=%x of %zu", first.write ? "W" : "R", first.address,
                          first.select, wanted_.size());
            inputs_ += line;
        }
        if (slept) inputs_ += " slept=" + std::to_string(slept);
        if (symbol >= 0) std::snprintf(line, sizeof line, " rx=%x", symbol), inputs_ += line;
        if (valid_) {
            std::snprintf(line, sizeof line, " %s %x%s sel=%x data=%x", access_.write ? "W" : "R",
                          access_.address & 0xFFFFFF, kernel_ ? "k" : "", access_.select, access_.data);
            inputs_ += line;
        }
    }

    // What the node's CPU asks, of both boards; the engine does not begin earlier.
    void drive_node() {
        if (cycle_ < RESET_EDGES) return;
        for (auto& node : nodes_) node->bus.edge();
        const CpuPins& seen = nodes_[0]->cpu;
        if (!wanted_.empty() && *seen.ready) {
            wanted_.pop_front();
            ++node_accesses_;
        }
        if (*seen.done) node_refused_ += *seen.error;
        // A cycle that begins just behind a reset is answered a cycle later by the RTL.
        since_reset_ = *rtl_.pins.rst ? 0 : since_reset_ + 1;
        if (wanted_.empty() && since_reset_ > SETTLED) {
            const std::vector<Access> more = traffic_.node();
            wanted_.assign(more.begin(), more.end());
        }
        for (auto& node : nodes_) {
            *node->cpu.valid = !wanted_.empty() && since_reset_ > SETTLED;
            *node->cpu.left = static_cast<std::uint32_t>(wanted_.size());
            if (wanted_.empty()) continue;
            const Access& access = wanted_.front();
            *node->cpu.address = access.address;
            *node->cpu.write = access.write;
            *node->cpu.select = access.select;
            *node->cpu.write_data = access.data;
        }
    }

    // Clock edges that are left out before the next; the board has said that it may be.
    std::uint32_t sleep() {
        const std::uint32_t most = *rtl_.pins.cpu.wake_in;
        if (!*rtl_.pins.idle || most < 3) return 0;
        return 1 + traffic_.dice.below(most - 2 < 300 ? most - 2 : 300);
    }

    void reset() {
        if (cycle_ < RESET_EDGES) {
            for (Side* side : {&rtl_, &fast_}) *side->pins.rst = cycle_ < RESET_EDGES - 1;
            return;
        }
        if (resets_ > 0) --resets_;
        if (traffic_.mood.resets && traffic_.dice.once(1500)) {
            resets_ = nodes_.empty() ? 1 + traffic_.dice.below(3) : RESET_EDGES;
        }
        for (Side* side : {&rtl_, &fast_}) *side->pins.rst = resets_ > 0;
        if (resets_ > 0) outstanding_.clear();
    }

    void request() {
        if (cycle_ < RESET_EDGES || *rtl_.pins.rst) {
            valid_ = false;
            return;
        }
        if (valid_ && *rtl_.pins.cpu.ready) {
            outstanding_.push_back(access_);
            valid_ = false;
            ++accesses_;
            const unsigned gap = traffic_.mood.access_gap;
            gap_ = gap ? traffic_.dice.below(gap + 1) : 0;
        }
        // What waits may be withdrawn.
        if (valid_ && traffic_.dice.once(20)) valid_ = false;
        if (valid_ || (gap_ > 0 && gap_-- > 0)) return;
        access_ = traffic_.next(now_);
        kernel_ = !traffic_.mood.user || traffic_.dice.once(8);
        valid_ = true;
    }

    Side rtl_;
    Side fast_;
    CabTraffic traffic_;
    std::uint64_t cycle_ = 0;
    std::uint32_t now_ = 0;
    bool valid_ = false, kernel_ = false, ready_ = true, asleep_ = false, stores_ = false;
    Access access_{};
    std::uint16_t symbol_ = 0;
    std::vector<Inputs> given_;
    std::deque<Access> outstanding_;
    unsigned gap_ = 0, resets_ = 0, behind_ = 0;
    std::uint64_t differs_ = 0, since_reset_ = 0;
    std::vector<std::unique_ptr<NodeBus>> nodes_;  // of the RTL, of the fast one; none without VME
    std::deque<Access> wanted_;                     // by the node
    std::deque<std::string> history_;
    std::string inputs_;
    unsigned long long accesses_ = 0, refused_ = 0, symbols_in_ = 0, symbols_out_ = 0, slept_ = 0;
    unsigned long long packets_in_ = 0, packets_out_ = 0, node_accesses_ = 0, node_refused_ = 0;
    unsigned long long not_granted_ = 0, windows_ = 0, transfers_ = 0, bus_errors_ = 0;
    bool strobed_ = false;
};

}  // namespace

int main(int count, char** arguments) {
    const bool vme = count == 4 && std::strcmp(arguments[1], "vmecab") == 0;
    if (count != 4 || (!vme && std::strcmp(arguments[1], "cab") != 0)) {
        std::fprintf(stderr, "cab_lockstep cab|vmecab SEED CYCLES\n");
        return 2;
    }
    const nectar::Kind* const* rtl = nectar::KINDS;
    while (std::strcmp((*rtl)->name, arguments[1]) != 0) ++rtl;
    Lockstep lockstep(**rtl, vme ? nectar::FAST_VMECAB : nectar::FAST_CAB, std::strtoull(arguments[2], nullptr, 10));
    const bool same = lockstep.run(std::strtoull(arguments[3], nullptr, 10));
    lockstep.report();
    return !same;
}
