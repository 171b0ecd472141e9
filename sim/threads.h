// Threads that evaluate boards beside the engine's own thread. docs/engine.md, "Threads".
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace nectar {

struct Board;

// Evaluates a board at a rising edge of its clock.
void evaluate(Board& board);

// The boards to be evaluated at an edge of a group, a share of them for each thread. A thread that has done its share
// takes boards from the others' shares.
class Work {
  public:
    // For so many threads, and groups of at most `boards`.
    Work(std::size_t threads, std::size_t boards);

    // For the engine's thread, while the work is done.
    void add(Board& board);
    void publish();

    // Evaluates boards, first those of the share of `thread`, until all are taken. Returns whether there were any.
    bool help(std::size_t thread);

    // All boards have been evaluated.
    bool done() const { return open_.load(std::memory_order_acquire) == 0; }

  private:
    Board* take(std::size_t thread);

    struct alignas(64) Share {
        std::atomic<std::uint64_t> state{0};  // upper half: how many boards; lower half: how many have been asked for
        std::vector<Board*> boards;
        std::size_t count = 0;
    };

    std::vector<Share> shares_;
    alignas(64) std::atomic<std::uint32_t> open_{0};
};

class Threads {
  public:
    // `count` includes the engine's thread, which is number 0.
    Threads(std::size_t count, std::vector<Work*> works);
    ~Threads();
    Threads(const Threads&) = delete;
    Threads& operator=(const Threads&) = delete;

    // There is new work.
    void call();

    // Takes part in `work` until it is done. For the engine's thread.
    void finish(Work& work);

  private:
    bool help(std::size_t thread);
    void serve(std::size_t thread);

    std::vector<Work*> works_;
    std::atomic<std::uint64_t> calls_{0};
    std::atomic<std::uint32_t> asleep_{0};
    std::atomic<bool> ended_{false};
    std::mutex guard_;
    std::condition_variable called_;
    std::vector<std::thread> threads_;
};

}  // namespace nectar
