// The engine as core.py calls it, by ctypes.

#include <algorithm>
#include <chrono>
#include <cstring>

#include "engine.h"

using nectar::Engine;
using nectar::Exchange;

namespace {

struct Handle {
    Engine engine;
    Exchange exchange{};
    std::chrono::steady_clock::duration spent{};  // in runs

    explicit Handle(bool sleep) : engine(sleep) { exchange.words = -1; }
};

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

Handle* nectar_new(int sleep) { return new Handle(sleep); }

void nectar_free(Handle* handle) { delete handle; }

int nectar_add(Handle* handle, const char* kind, const char* name, int id, std::int64_t period, std::int64_t phase,
               int recorded) {
    return handle->engine.add(kind, name, id, period, phase, recorded);
}

int nectar_connect(Handle* handle, int a, int port_a, int b, int port_b, std::int64_t symbol_ps,
                   std::int64_t delay_ps) {
    return handle->engine.connect(a, port_a, b, port_b, symbol_ps, delay_ps);
}

// Events of `groups` are recorded; 0: none.
void nectar_begin(Handle* handle, unsigned groups) { handle->engine.begin(groups); }

// So many threads evaluate boards; `later`: as soon as they have enough to do. They share the boards of an edge whose
// evaluations take `shared_ns`.
void nectar_use_threads(Handle* handle, std::size_t count, int later, double shared_ns) {
    handle->engine.use_threads(count, later, shared_ns);
}

// How many threads evaluate boards.
std::size_t nectar_threads(Handle* handle) { return handle->engine.threads(); }

// What evaluations have cost: a structure of float64 (engine.h).
const nectar::Costs* nectar_costs(Handle* handle) { return &handle->engine.costs(); }

// What an evaluation of a board costs in the mean, in ns of the host's time.
double nectar_cost(Handle* handle, int board) {
    handle->engine.rest();
    const nectar::Board& measured = *handle->engine.boards[board];
    return measured.measured ? measured.measured_ns / static_cast<double>(measured.measured) : 0;
}

Exchange* nectar_exchange(Handle* handle) { return &handle->exchange; }

// Room for words of operations and for bytes: of block writes, and of a result if they fit.
std::int64_t* nectar_words(Handle* handle, std::size_t count) {
    if (handle->engine.words.size() < count) handle->engine.words.resize(count);
    return handle->engine.words.data();
}

std::uint8_t* nectar_data(Handle* handle, std::size_t count) {
    if (handle->engine.data.size() < count) handle->engine.data.resize(count);
    return handle->engine.data.data();
}

void nectar_start(Handle* handle, int board, int handler) { handle->engine.start(board, handler); }

// Whether the software of a CPU has an interrupt handler; `words`: the operations that an interrupt begins with.
void nectar_attach(Handle* handle, int board, int handler, const std::int64_t* words, std::size_t count) {
    handle->engine.attach(board, handler, words, count);
}

void nectar_wake(Handle* handle, int board) { handle->engine.wake(board); }

void nectar_halt(Handle* handle, int board) { handle->engine.halt(board); }

void nectar_stop(Handle* handle, int board) { handle->engine.stop(board); }

// A fault on a direction of a fiber.
int nectar_fault(Handle* handle, int fiber, int harm, int of, const nectar::FaultWords* words) {
    nectar::Fault fault{};
    fault.harm = static_cast<nectar::FaultEffect>(harm);
    fault.of = static_cast<nectar::SymbolClass>(of);
    fault.key = static_cast<std::uint64_t>(words->key);
    fault.threshold = words->threshold;
    fault.nth = static_cast<std::uint64_t>(words->nth);
    fault.times = static_cast<std::uint64_t>(words->times);
    fault.length = static_cast<std::uint64_t>(words->length);
    fault.from = words->from;
    fault.until = words->until;
    fault.delay = words->delay;
    return handle->engine.fault(fiber, fault);
}

// That fault ends.
void nectar_fault_end(Handle* handle, int fiber, int number, std::int64_t until) {
    handle->engine.end(fiber, number, until);
}

std::int64_t nectar_fault_hits(Handle* handle, int fiber, int number) {
    return static_cast<std::int64_t>(handle->engine.faults(fiber)[number].hits);
}

std::int64_t nectar_fault_symbols(Handle* handle, int fiber, int number) {
    return static_cast<std::int64_t>(handle->engine.faults(fiber)[number].symbols);
}

void nectar_reset(Handle* handle, int board) { handle->engine.reset(board); }

int nectar_inject(Handle* handle, int board, const std::uint16_t* symbols, std::size_t count) {
    return handle->engine.inject(board, symbols, count);
}

void nectar_pass(Handle* handle, std::int64_t time) {
    handle->engine.pass(time);
    handle->exchange.time_ps = handle->engine.time_ps();
}

int nectar_run(Handle* handle) {
    Engine& engine = handle->engine;
    Exchange& exchange = handle->exchange;
    if (exchange.words >= 0) {
        engine.give(static_cast<std::size_t>(exchange.words) / nectar::OPERATION_WORDS,
                    static_cast<std::size_t>(exchange.bytes));
        exchange.words = -1;
        exchange.bytes = 0;
    }
    const auto begun = std::chrono::steady_clock::now();
    const nectar::Code code = engine.run(exchange.until);
    handle->spent += std::chrono::steady_clock::now() - begun;
    exchange.time_ps = engine.time_ps();
    if (code >= nectar::Code::RESUME) {
        const nectar::Processor& cpu = engine.turn_cpu();
        exchange.board = engine.turn_index();
        exchange.level = cpu.level;
        exchange.result = static_cast<std::int64_t>(cpu.result);
        exchange.number = static_cast<std::int64_t>(cpu.number);
        if (cpu.result == nectar::Result::BYTES) {
            exchange.number = reinterpret_cast<std::intptr_t>(cpu.bytes.data());
            if (cpu.bytes.size() <= engine.data.size()) {
                std::copy(cpu.bytes.begin(), cpu.bytes.end(), engine.data.begin());
            }
        }
        exchange.length = static_cast<std::int64_t>(cpu.bytes.size());
        exchange.address = cpu.error_address;
        exchange.write = cpu.error_write;
        if (code == nectar::Code::FAULT) exchange.number = reinterpret_cast<std::intptr_t>(cpu.fault);
    }
    return static_cast<int>(code);
}

// Seconds of the host that runs have taken.
double nectar_seconds(Handle* handle) { return std::chrono::duration<double>(handle->spent).count(); }

std::int64_t nectar_evaluated(Handle* handle, int board) { return handle->engine.evaluated(board); }

std::int64_t nectar_napped(Handle* handle, int board) { return handle->engine.napped(board); }

std::int64_t nectar_skipped(Handle* handle, int board) { return handle->engine.skipped(board); }

std::int64_t nectar_symbols(Handle* handle, int fiber) {
    return static_cast<std::int64_t>(handle->engine.symbols(fiber));
}

// What has been recorded since nectar_records_clear: bytes, and how many.
const std::uint8_t* nectar_records(Handle* handle) { return handle->engine.recorder->records.data(); }

std::size_t nectar_records_size(Handle* handle) { return handle->engine.recorder->records.size(); }

void nectar_records_clear(Handle* handle) { handle->engine.recorder->records.clear(); }

// From here on nothing is recorded, only counted.
void nectar_records_close(Handle* handle) { handle->engine.recorder->close(); }

std::int64_t nectar_records_dropped(Handle* handle) {
    return static_cast<std::int64_t>(handle->engine.recorder->dropped);
}

int nectar_trace(Handle* handle, const char* path, std::int64_t begin, std::int64_t end, std::int64_t limit) {
    return handle->engine.trace(path, begin, end, limit);
}

// The time at which the limit has ended it, or -1.
std::int64_t nectar_trace_full(Handle* handle) { return handle->engine.trace_full(); }

// The time of the first symbol on a fiber in it, or -1.
std::int64_t nectar_trace_first(Handle* handle) { return handle->engine.trace_first(); }

// Ends what nectar_trace has begun. Returns 0, or errno.
int nectar_trace_close(Handle* handle) { return handle->engine.trace_close(); }

// Names of values of a kind of board (board.h); null if there is no such kind.
const char* nectar_value_names(const char* kind) {
    const auto* known = nectar::KINDS;
    while (*known && std::strcmp((*known)->name, kind) != 0) ++known;
    return *known ? (*known)->value_names : nullptr;
}

}  // extern "C"
#pragma GCC visibility pop
