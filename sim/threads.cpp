#include "threads.h"

#include <algorithm>
#include <chrono>

#include "engine.h"

namespace nectar {

namespace {

// Looks for work before a thread sleeps: some 50 us.
constexpr int LOOKS = 1 << 10;
// Looks before the engine's thread lets others have its core.
constexpr int WAITS = 1 << 12;

// One evaluation in so many is measured; the mean is one of about so many measurements.
constexpr std::int64_t MEASURED = 64;
constexpr double MEANS = 16;
// What takes longer was interrupted by other work of the host. A measurement counts in the mean as at most so many
// times the mean before, so that a few that were interrupted do not matter.
constexpr double INTERRUPTED_NS = 1e6;
constexpr double RISE = 4;
// One edge of a group in so many is measured: to measure all takes 3 % of the time of fast boards.
constexpr unsigned ONE_OF = 8;
// Of measured edges: those in the mean of what their evaluations cost, and those between two looks at who evaluates
// what.
constexpr double EDGES = 32;
constexpr std::uint64_t SHARED_OUT = 1 << 9;
// Host time in ns of the evaluations of an edge from which on threads pay, and measured edges before this is known.
// Boards that take less than DEAR_NS do not count: to hand them over takes as long.
constexpr double PAYS_NS = 1e4;
constexpr double DEAR_NS = 500;
constexpr std::uint64_t KNOWN = 1 << 8;

inline void breathe() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

}  // namespace

Work::Work(std::size_t threads, std::size_t boards) : shares_(threads) {
    for (Share& share : shares_) share.boards.resize(boards);
}

void Work::add(Board& board) {
    Share& share = shares_[board.home];
    share.boards[share.count++] = &board;
}

void Work::publish() {
    std::uint32_t count = 0;
    for (const Share& share : shares_) count += static_cast<std::uint32_t>(share.count);
    open_.store(count, std::memory_order_relaxed);
    for (Share& share : shares_) {
        share.state.store(static_cast<std::uint64_t>(share.count) << 32, std::memory_order_release);
        share.count = 0;
    }
}

// A board that nobody has taken yet; null if there is none.
Board* Work::take(std::size_t thread) {
    for (std::size_t i = 0; i < shares_.size(); ++i) {
        Share& share = shares_[(thread + i) % shares_.size()];
        std::uint64_t state = share.state.load(std::memory_order_relaxed);
        if ((state & UINT32_MAX) >= state >> 32) continue;
        state = share.state.fetch_add(1, std::memory_order_acquire);
        if ((state & UINT32_MAX) < state >> 32) return share.boards[state & UINT32_MAX];
    }
    return nullptr;
}

bool Work::help(std::size_t thread) {
    std::uint32_t done = 0;
    while (Board* board = take(thread)) {
        evaluate(*board);
        ++done;
    }
    if (done) open_.fetch_sub(done, std::memory_order_release);
    return done;
}

Threads::Threads(std::size_t count, std::vector<Work*> works) : works_(std::move(works)) {
    for (std::size_t thread = 1; thread < count; ++thread) threads_.emplace_back([this, thread] { serve(thread); });
}

Threads::~Threads() {
    {
        const std::lock_guard<std::mutex> lock(guard_);
        ended_ = true;
    }
    called_.notify_all();
    for (std::thread& thread : threads_) thread.join();
}

void Threads::call() {
    calls_.fetch_add(1);
    if (!asleep_) return;
    { const std::lock_guard<std::mutex> lock(guard_); }
    called_.notify_all();
}

void Threads::finish(Work& work) {
    work.help(0);
    for (int waits = 0; !work.done(); ++waits) {
        if (waits < WAITS) {
            breathe();
        } else {
            std::this_thread::yield();
        }
    }
}

// Evaluates the boards of an edge; false if there are none.
bool Threads::help(std::size_t thread) {
    return std::any_of(works_.begin(), works_.end(), [&](Work* work) { return work->help(thread); });
}

void Threads::serve(std::size_t thread) {
    for (int looks = 0; !ended_;) {
        const std::uint64_t calls = calls_;
        if (help(thread)) {
            looks = 0;
        } else if (++looks < LOOKS) {
            breathe();
        } else {
            std::unique_lock<std::mutex> lock(guard_);
            ++asleep_;
            called_.wait(lock, [&] { return ended_ || calls_ != calls; });
            --asleep_;
            looks = 0;
        }
    }
}

// -- the engine's side -----------------------------------------------------------------------------

void evaluate(Board& board) {
    using Clock = std::chrono::steady_clock;
    const bool measured = board.evaluated++ % MEASURED == 0;
    const Clock::time_point begun = measured ? Clock::now() : Clock::time_point{};
    const Pins& pins = board.pins;
    if (pins.clk_before) {
        *pins.clk_before = 0;
    } else {
        *pins.clk = 0;
        board.eval(board.state);
    }
    *pins.clk = 1;
    board.eval(board.state);
    if (!measured) return;
    const double took = std::chrono::duration<double, std::nano>(Clock::now() - begun).count();
    if (took > INTERRUPTED_NS) return;
    board.cost_ns += (std::min(took, RISE * board.cost_ns) - board.cost_ns) / MEANS;
    board.measured_ns += took;
    ++board.measured;
}

void Engine::use_threads(std::size_t count, bool later, double shared_ns) {
    shared_ns_ = shared_ns;
    thread_count_ = std::max<std::size_t>(1, std::min(count, boards.size()));
    if (!later) start_threads();
}

void Engine::start_threads() {
    if (thread_count_ == 1) return;
    std::vector<Work*> works;
    for (auto& group : groups_) {
        group->work = std::make_unique<Work>(thread_count_, group->boards.size());
        works.push_back(group->work.get());
    }
    share_out();
    threads_ = std::make_unique<Threads>(thread_count_, std::move(works));
}

// Gives each thread boards that follow each other on fibers, as many as have had its share of the evaluations' time.
void Engine::share_out() {
    std::vector<Board*> order;
    std::vector<bool> found(boards.size());
    for (auto& start : boards) {
        if (found[start->index]) continue;
        found[start->index] = true;
        order.push_back(start.get());
        for (std::size_t at = order.size() - 1; at < order.size(); ++at) {
            for (std::size_t port = 0; port < order[at]->wired; ++port) {
                Board* next = order[at]->ports[port].peer->board;
                if (found[next->index]) continue;
                found[next->index] = true;
                order.push_back(next);
            }
        }
    }
    double sum = 0;
    for (Board* board : order) sum += board->load_ns + 1;
    double passed = 0;
    for (Board* board : order) {
        const double load = board->load_ns + 1;
        const auto home = static_cast<std::size_t>((passed + load / 2) / sum * static_cast<double>(thread_count_));
        board->home = std::min(home, thread_count_ - 1);
        board->load_ns = 0;
        passed += load;
    }
}

// What the edge of a group has cost, whose boards have all been evaluated.
void Engine::measure(Group& group) {
    if (group.unmeasured > 0) {
        --group.unmeasured;
        return;
    }
    group.unmeasured = ONE_OF - 1;
    double sum = 0;
    double most = 0;
    double dear = 0;
    for (Board* board : group.under_way) {
        board->load_ns += board->cost_ns;
        sum += board->cost_ns;
        most = std::max(most, board->cost_ns);
        dear += board->cost_ns < DEAR_NS ? 0 : board->cost_ns;
    }
    group.cost_ns = sum;
    costs_.sum += ONE_OF * sum;
    for (std::size_t size = 0; size < Costs::SIZES; ++size) {
        costs_.ideal[size] += ONE_OF * std::max(sum / static_cast<double>(2 << size), most);
    }
    load_ns_ += (dear - load_ns_) / EDGES;
    ++edges_;
    if (threads_) {
        if (edges_ % SHARED_OUT == 0) share_out();
    } else if (edges_ >= KNOWN && load_ns_ >= PAYS_NS) {
        start_threads();
    }
}

void Engine::rest() {
    if (!threads_) return;
    for (auto& group : groups_) threads_->finish(*group->work);
}

std::int64_t Engine::evaluated(int index) {
    rest();
    catch_up(*boards[index]);
    return boards[index]->evaluated;
}

std::int64_t Engine::skipped(int index) {
    const std::int64_t passed = boards[index]->group->edge_at(now_ + 1);
    return passed - evaluated(index);
}

void Engine::settle_all() {
    for (auto& group : groups_) {
        if (group->open && group.get() != stepped_) settle(*group);
    }
}

}  // namespace nectar
