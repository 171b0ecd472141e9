// Boards, fibers, time. docs/engine.md.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "board.h"
#include "lines.h"
#include "nectar_numbers.h"
#include "port.h"
#include "processor.h"
#include "recorder.h"
#include "rtl.h"
#include "threads.h"
#include "vme.h"

namespace nectar {

struct Group;

// A node: a CPU behind the VME bus of a CAB. Its clock is the CAB's; the CAB's reset is none of its own.
struct Node {
    VmeBus bus;
    Processor cpu;

    Node(const VmePins& pins, std::int64_t period_ps) : bus(pins, period_ps) { cpu.pins = bus.cpu(); }
};

struct Board {
    static constexpr std::uint8_t NO_PLACE = 0xFF;

    void* model = nullptr;
    void (*eval)(void*) = nullptr;  // of what:
    void* state = nullptr;
    Pins pins;
    std::unique_ptr<Port[]> ports;
    std::size_t wired = 0;    // ports with a fiber: the first of them
    Mask live;          // those of them at which something may happen without a symbol of the board's own
    std::vector<std::uint8_t> places;  // of a fast HUB's ports among the wired ones; NO_PLACE without fiber
    std::vector<Lines> lines;  // its channels of lines, by their numbers; then
    std::int64_t next_tick = 0;  // the first tick that it has not had, and
    std::int64_t stirred = 0;    // the last one at which what its lines carry keeps it from sleep
    Group* group = nullptr;
    std::size_t slot = 0;     // in its group
    std::int64_t last = -1;   // number of the last edge at which it was evaluated
    std::int64_t reset = RESET_EDGES;  // number of the first edge at which its reset is over
    bool has_cpu = false;
    bool symbol = false;      // a symbol is on its way in at the next edge
    bool recorded = false;    // in a waveform file
    bool awake = false;       // being recorded now: does not sleep
    bool naps = false;        // is evaluated when it wakes, at all edges since the last one
    bool takes_bytes = false; // and bytes that arrive do not wake it,
    bool takes_controls = false;  // nor do control codes
    std::int64_t evaluated = 0;
    std::int64_t napped = 0;  // edges at which it was evaluated later
    double cost_ns = 500;     // of an evaluation, of the host's time; measured at some of them
    double measured_ns = 0;   // the sum of what was measured,
    std::int64_t measured = 0;  // and how often
    double load_ns = 0;       // the sum of these costs since boards were last shared out
    std::size_t home = 0;     // thread that evaluates it by preference
    Processor cpu;
    std::unique_ptr<Node> node;  // null if there is none
    int service = -1;         // a port without fiber, once one is needed
    std::vector<std::uint16_t> orders;  // symbols for it
    const Kind* kind = nullptr;
    std::string name;
    int index = 0;
    Seen seen;
};

// Boards with the same clock.
struct Group {
    std::int64_t period = 0;
    std::int64_t phase = 0;
    std::vector<Board*> boards;
    std::vector<std::int64_t> wake;     // for each board the number of the next edge at which it must be evaluated
    std::int64_t edge = 0;              // lowest number of an edge not yet done
    std::int64_t wake_first = NEVER;    // lowest of wake
    std::int64_t due_first = NEVER;     // lowest edge at which something will happen, asleep or not
    std::int64_t next_ps = NEVER;       // time of the next edge to be done
    std::int64_t fall_ps = NEVER;       // next falling edge, while a board is traced
    bool recorded = false;              // some of its boards are being recorded now
    std::vector<Board*> under_way;      // boards of the last edge
    bool open = false;                  // these have not been settled: next_ps is the earliest that it can be
    std::unique_ptr<Work> work;         // of threads
    double cost_ns = 0;                 // of the evaluations of the last edge that was measured
    unsigned unmeasured = 0;            // edges till the next that is

    std::int64_t time_of(std::int64_t number) const { return number == NEVER ? NEVER : phase + number * period; }
    // Number of the first edge that is not before `time`.
    std::int64_t edge_at(std::int64_t time) const { return time <= phase ? 0 : (time - phase + period - 1) / period; }
};

// What the evaluations of all edges have cost in ns of the host's time, by those that were measured: their sum, and
// how long they take with 2, 4, 8, 16 threads that never wait for anything but the last board of an edge.
struct Costs {
    static constexpr std::size_t SIZES = 4;
    double sum = 0;
    double ideal[SIZES] = {};
};

class Engine {
  public:
    explicit Engine(bool sleep);
    ~Engine();
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    // Setting up: boards, then fibers, then begin().
    // A CAB of a kind with VME has a node.
    int add(const char* kind, const char* name, int id, std::int64_t period, std::int64_t phase, bool recorded);
    bool connect(int a, int port_a, int b, int port_b, std::int64_t symbol_ps, std::int64_t delay_ps);
    // `groups`: of the events to record; 0: none.
    void begin(unsigned groups);

    // From begin() on. Boards are evaluated by so many threads; `later`: as soon as they have enough to do. The boards
    // of an edge are shared if their evaluations take `shared_ns` of the host's time.
    void use_threads(std::size_t count, bool later, double shared_ns);

    // Software: of the CAB with that number, or of the node of the CAB with that number less the number of boards.
    void start(int board, bool handler);
    void halt(int board);
    void wake(int board);
    void stop(int board);
    void give(std::size_t operations, std::size_t bytes);
    void attach(int board, bool handler, const std::int64_t* words, std::size_t count);
    const Processor& turn_cpu() const { return *turns_[turn_].cpu; }
    int turn_index() const {
        const Asked& asked = turns_[turn_];
        return asked.board->index + (asked.cpu == &asked.board->cpu ? 0 : static_cast<int>(boards.size()));
    }

    // Waits till no thread evaluates a board any more.
    void rest();

    // Runs until software must run, `until` is reached, all is quiet, about 50 ms of real time have passed, or the
    // recorder is full.
    Code run(std::int64_t until);

    // Faults, from now on. fault() returns its number on that direction; what is under way already a cut may take.
    int fault(int fiber, const Fault& fault);
    // Fault number so-and-so of the direction ends at `until`, if it would not before.
    void end(int fiber, int number, std::int64_t until);
    std::vector<Fault>& faults(int fiber);
    void reset(int board);
    // Has a HUB take symbols in at a port without fiber; false if it has none.
    bool inject(int board, const std::uint16_t* symbols, std::size_t count);
    // Simulated time goes on to `time` while all is quiet.
    void pass(std::int64_t time) { now_ = std::max(now_, time); }

    // Waveforms of the boards to be recorded, from `begin` to `end` and up to `limit` bytes, as VCD. Once per engine.
    bool trace(const char* path, std::int64_t begin, std::int64_t end, std::int64_t limit);
    int trace_close() { return waves_->close(); }
    std::int64_t trace_full() const { return waves_->full(); }
    std::int64_t trace_first() const { return waves_->first(); }

    std::int64_t time_ps() const { return now_; }
    std::uint64_t symbols(int fiber);
    std::int64_t evaluated(int board);
    std::int64_t napped(int board);
    std::int64_t skipped(int board);
    // 1: there is the engine's thread only.
    std::size_t threads() const { return threads_ ? thread_count_ : 1; }
    const Costs& costs() const { return costs_; }

    std::vector<std::unique_ptr<Board>> boards;
    std::vector<Port*> senders;  // by the number of the direction in which they send;
    std::vector<Lines*> lines;   // or, with links of lines, these
    std::unique_ptr<Recorder> recorder;  // null if nothing is recorded

    // Operations of the software on their way in.
    std::vector<std::int64_t> words;
    std::vector<std::uint8_t> data;

  private:
    friend class Waves;

    void step(Group& group);
    bool prepare(Board& board, std::int64_t edge, std::int64_t time);
    bool exchange(Board& board, std::int64_t time);
    bool exchange_some(Board& board, std::int64_t time, std::int64_t next);
    std::int64_t tick(Board& board, std::int64_t edge, std::int64_t left_out);
    void settle(Group& group);
    void settle(Board& board);
    void settle_all();
    std::int64_t nap(Board& board, std::int64_t edge);
    std::int64_t nap_of_relay(Board& board, std::int64_t edge);
    void catch_up(Board& board, std::int64_t edge);
    void catch_up_relay(Board& board, std::int64_t edge);
    void catch_up(Board& board);
    void rouse(Board& board);
    void recall(Port& port);
    bool alone() const { return !threads_ || recorder || waves_; }
    void start_threads();
    void share_out();
    void measure(Group& group);
    void serve(Board& board, std::int64_t edge);
    void look_again(int fiber);
    void sent(const Port& port, std::int64_t arrival);
    void wake(Board& board, std::int64_t edge);
    bool turns(Code& code);
    Processor& cpu(int index);
    Board& board_of(int index) { return *boards[static_cast<std::size_t>(index) % boards.size()]; }
    Code turn_code(Turn turn) const;

    std::unique_ptr<Rtl> rtl_;  // null if there are no boards of Verilator's
    bool sleep_;
    bool may_nap_ = false;         // nothing is recorded that boards do
    std::vector<std::unique_ptr<Group>> groups_;
    std::int64_t now_ = 0;
    Group* stepped_ = nullptr;     // group whose edge is not finished: software must run first
    struct Asked {
        Board* board;
        Processor* cpu;
        Turn turn;
    };
    std::vector<Asked> turns_;     // CPUs of its boards that wait for that; those of one board follow each other
    std::size_t turn_ = 0;
    bool given_ = false;           // the CPU at turn_ has got its operations
    std::unique_ptr<Recording> waves_;
    Costs costs_;
    double load_ns_ = 0;           // of the dear evaluations of an edge, in the mean of the last ones
    std::uint64_t edges_ = 0;      // that were measured
    std::size_t thread_count_ = 1; // to be used
    double shared_ns_ = 0;
    std::unique_ptr<Threads> threads_;
};

}  // namespace nectar
