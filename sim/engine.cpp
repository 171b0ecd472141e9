#include "engine.h"

#include <algorithm>
#include <chrono>
#include <cstring>

namespace nectar {

namespace {

// Ticks for which a board does not sleep behind what is no status nibble on its lines.
constexpr std::int64_t SETTLING_TICKS = 4;
// Groups of events that do not tell when symbols are sent or what boards do.
constexpr unsigned OF_SOFTWARE = static_cast<unsigned>(EventGroup::MESSAGES) | static_cast<unsigned>(EventGroup::CPU);
// Steps between two looks at the host's clock.
constexpr int STEPS = 256;
constexpr std::chrono::milliseconds SLICE{50};

// The next edge at which a node has something to do.
std::int64_t node_due(const Node& node, std::int64_t edge) {
    if (!node.bus.idle()) return edge + 1;
    const std::int64_t due = node.cpu.due(edge - RESET_EDGES);
    return due == NEVER ? NEVER : due + RESET_EDGES;
}

}  // namespace

Engine::Engine(bool sleep) : rtl_(make_rtl()), sleep_(sleep) {}

Engine::~Engine() {
    threads_.reset();
    waves_.reset();
    for (auto& board : boards) board->kind->destroy(board->model);
}

// -- setting up -------------------------------------------------------------------------------------

int Engine::add(const char* kind, const char* name, int id, std::int64_t period, std::int64_t phase, bool recorded) {
    const Kind* const* known = KINDS;
    while (*known && std::strcmp((*known)->name, kind) != 0) ++known;
    if (!*known) return -1;
    auto board = std::make_unique<Board>();
    board->kind = *known;
    board->name = name;
    board->index = static_cast<int>(boards.size());
    board->has_cpu = board->kind->cpu;
    board->recorded = recorded;
    board->model = board->kind->make(rtl_ ? rtl_->context(recorded) : nullptr, name, board->pins);
    board->eval = recorded ? board->kind->eval : board->kind->quick;
    board->state = recorded ? board->model : board->kind->state(board->model);
    board->ports = std::make_unique<Port[]>(board->pins.ports.size());
    if (board->has_cpu) {
        board->cpu.pins = board->pins.cpu;
        if (board->pins.vme.as_n) board->node = std::make_unique<Node>(board->pins.vme, period);
    }
    if (board->pins.hub_id) *board->pins.hub_id = static_cast<std::uint8_t>(id);
    board->lines.resize(board->pins.lines.size());
    Group* group = nullptr;
    for (auto& other : groups_) {
        if (other->period == period && other->phase == phase) group = other.get();
    }
    if (!group) {
        groups_.push_back(std::make_unique<Group>());
        group = groups_.back().get();
        group->period = period;
        group->phase = phase;
    }
    board->group = group;
    board->slot = group->boards.size();
    group->boards.push_back(board.get());
    group->wake.push_back(0);
    boards.push_back(std::move(board));
    return boards.back()->index;
}

bool Engine::connect(int a, int port_a, int b, int port_b, std::int64_t symbol_ps, std::int64_t delay_ps) {
    Board* ends[2] = {boards[a].get(), boards[b].get()};
    if (ends[0]->pins.tick && ends[1]->pins.tick) {
        const std::int64_t ticks = std::max<std::int64_t>(1, (delay_ps + symbol_ps - 1) / symbol_ps);
        if (ends[0]->group != ends[1]->group || ticks > Lines::MOST_TICKS) return false;
        Lines::join(ends[0]->lines[port_a], *ends[0], ends[0]->pins.lines[port_a], ends[1]->lines[port_b], *ends[1],
                    ends[1]->pins.lines[port_b], ticks, ends[0]->group->period, ends[0]->group->phase);
        lines.insert(lines.end(), {&ends[0]->lines[port_a], &ends[1]->lines[port_b]});
        return true;
    }
    const int numbers[2] = {port_a, port_b};
    for (const Board* end : ends) {
        // What arrives by the next edge must have been sent before this one.
        if (symbol_ps < end->group->period || symbol_ps + delay_ps <= end->group->period) return false;
    }
    const int first = static_cast<int>(senders.size());
    for (int i = 0; i < 2; ++i) {
        Board& end = *ends[i];
        Port& port = end.ports[end.wired];
        port.pins = end.pins.ports[numbers[i]];
        port.board = &end;
        port.number = static_cast<unsigned>(numbers[i]);
        if (end.pins.sending) {
            port.live = &end.live;
            port.place = static_cast<unsigned>(end.wired);
            end.places.resize(end.pins.ports.size(), Board::NO_PLACE);
            end.places[numbers[i]] = static_cast<std::uint8_t>(end.wired);
        }
        ++end.wired;
        senders.push_back(&port);
    }
    join(*senders[first], *senders[first + 1], symbol_ps, delay_ps, first);
    return true;
}

void Engine::begin(unsigned groups) {
    may_nap_ = sleep_ && !(groups & ~OF_SOFTWARE);
    if (groups) recorder = std::make_unique<Recorder>(groups, senders.size());
    for (auto& board : boards) {
        board->cpu.records(recorder.get(), board->index);
        if (!board->node) continue;
        const int place = board->index + static_cast<int>(boards.size());
        board->node->cpu.records(recorder.get(), place);
        board->node->bus.records(recorder.get(), place, board->index);
    }
    for (auto& group : groups_) {
        group->wake_first = group->due_first = 0;
        group->next_ps = group->time_of(0);
    }
}

// -- running ----------------------------------------------------------------------------------------

Code Engine::run(std::int64_t until) {
    const auto begun = std::chrono::steady_clock::now();
    Code code;
    if (stepped_ && turns(code)) return code;
    for (int steps = 1;; ++steps) {
        if (steps % STEPS == 0 && std::chrono::steady_clock::now() - begun > SLICE) {
            settle_all();
            return Code::PAUSE;
        }
        if (recorder && recorder->full()) return Code::PAUSE;
        Group* next = nullptr;
        std::int64_t time = NEVER;
        std::int64_t due = NEVER;
        for (auto& group : groups_) {
            if (group->next_ps < time) {
                time = group->next_ps;
                next = group.get();
            }
            due = std::min(due, group->open ? group->next_ps : group->due_first);
        }
        if (due == NEVER) return Code::QUIET;
        if (next && next->open) {
            settle(*next);
            continue;
        }
        if (waves_ && waves_->before(*this, time, until)) continue;
        if (time >= until) {
            settle_all();
            now_ = std::max(now_, until);
            return Code::TIME;
        }
        now_ = time;
        if (recorder) recorder->now = time;
        step(*next);
        if (stepped_ && turns(code)) return code;
    }
}

// An edge of all boards of a group that are awake. With threads the group stays open: its boards are settled when its
// next edge may come, and other groups may have edges until then. A symbol that is sent at an edge arrives later than
// that.
void Engine::step(Group& group) {
    const std::int64_t time = group.next_ps;
    const std::int64_t edge = group.wake_first;
    const bool shared = threads_ && group.cost_ns >= shared_ns_;
    group.edge = edge + 1;
    group.open = true;
    group.under_way.clear();
    group.wake_first = group.due_first = NEVER;
    for (std::size_t i = 0; i < group.wake.size(); ++i) {
        const std::int64_t at = group.wake[i];
        if (at > edge) {
            group.wake_first = std::min(group.wake_first, at);
            group.due_first = std::min(group.due_first, at);
            continue;
        }
        Board& board = *group.boards[i];
        group.under_way.push_back(&board);
        if (!prepare(board, edge, time)) {
            stepped_ = &group;
        } else if (shared) {
            group.work->add(board);
        } else {
            evaluate(board);
        }
    }
    if (shared) {
        group.work->publish();
        threads_->call();
    }
    if (group.recorded) group.fall_ps = time + group.period / 2;
    group.next_ps = time + group.period;
    if (alone() && !stepped_) settle(group);
}

// Samples the outputs and sets the inputs that the board's registers will hold after this edge. Returns whether the
// board can be evaluated at once; otherwise its software must run first.
bool Engine::prepare(Board& board, std::int64_t edge, std::int64_t time) {
    if (board.naps) {
        catch_up(board, edge);
        board.naps = board.takes_bytes = board.takes_controls = false;
    }
    std::int64_t left_out = edge - board.last - 1;
    board.last = edge;
    if (board.pins.tick) {
        left_out = tick(board, edge, left_out);
    } else {
        board.symbol = exchange(board, time);
    }
    if (edge < board.reset) *board.pins.rst = edge < board.reset - 1;
    if (!board.has_cpu) {
        if (board.service >= 0) serve(board, edge);
        return true;
    }
    *board.pins.cpu.slept = static_cast<std::uint32_t>(left_out);
    bool whole = true;
    if (edge >= board.reset) {
        const Turn turn = board.cpu.edge(edge - board.reset);
        whole = turn == Turn::NONE;
        if (!whole) turns_.push_back({&board, &board.cpu, turn});
    }
    if (board.node && edge >= RESET_EDGES) {
        Node& node = *board.node;
        node.bus.edge();
        const Turn turn = node.cpu.edge(edge - RESET_EDGES);
        if (turn != Turn::NONE) {
            turns_.push_back({&board, &node.cpu, turn});
            whole = false;
        }
    }
    return whole;
}

// What the board's lines do at its edge, behind so many that were left out. Returns how many of these are left to tell
// the board of. In its sleep the board's state has had a period of two ticks: if an odd number of them was left out,
// one is made up for.
std::int64_t Engine::tick(Board& board, std::int64_t edge, std::int64_t left_out) {
    const std::int64_t now = tick_of(edge);
    board.symbol = left_out > 0 || now <= board.stirred;
    if (left_out > 0) {
        const bool odd = (now - board.next_tick) % 2;
        for (Lines& lines : board.lines) {
            if (!lines.peer()) continue;
            lines.skip(now);
            if (odd) lines.give(now - 1);
        }
        board.next_tick = now;
        if (odd) {
            *board.pins.tick = 1;
            *board.pins.cpu.slept = static_cast<std::uint32_t>(left_out - 1);
            evaluate(board);
            left_out = 0;
        }
    }
    const bool ticks = is_tick(edge);
    *board.pins.tick = ticks;
    if (!ticks) return left_out;
    board.next_tick = now + 1;
    for (Lines& lines : board.lines) {
        Board* const peer = lines.peer();
        if (!peer) continue;
        if (lines.give(now)) {
            board.stirred = std::max(board.stirred, now + SETTLING_TICKS);
            board.symbol = true;
        }
        if (!lines.take(now)) continue;
        const std::int64_t arrival = now + lines.ticks();
        board.stirred = std::max(board.stirred, now + SETTLING_TICKS);
        peer->stirred = std::max(peer->stirred, arrival + SETTLING_TICKS);
        wake(*peer, edge_of(arrival));
    }
    return left_out;
}

// What the board's ports do at its edge at `time`. Returns whether a symbol is on its way in. Ports at which nothing
// happens are left out where the board tells which ones send.
inline bool Engine::exchange(Board& board, std::int64_t time) {
    const std::int64_t next = time + board.group->period;
    if (board.pins.sending) return exchange_some(board, time, next);
    bool symbol = false;
    for (Port *port = board.ports.get(), *end = port + board.wired; port != end; ++port) {
        const std::int64_t arrival = port->edge(time, next, symbol);
        if (arrival != NEVER) sent(*port, arrival);
    }
    return symbol;
}

bool Engine::exchange_some(Board& board, std::int64_t time, std::int64_t next) {
    const Pins& pins = board.pins;
    Mask due = board.live, arriving;
    each(*pins.sending, [&](unsigned number) {
        const std::uint8_t place = board.places[number];
        if (place != Board::NO_PLACE) nectar::add(due, place);
    });
    each(due, [&](unsigned place) __attribute__((always_inline)) {
        Port& port = board.ports[place];
        if (port.ahead && port.ready &&
            (*port.pins.tx_valid ? !port.expects(time, *port.pins.tx_payload) : next > port.wire_free)) {
            recall(port);
        }
        if (*port.pins.tx_valid & port.ready) {
            const std::int64_t arrival = port.send(time, *port.pins.tx_payload);
            if (arrival != NEVER) sent(port, arrival);
        }
        const bool ready = port.last_start <= next;
        if (ready != port.ready) {
            port.ready = ready;
            *port.pins.tx_ready = ready;
            set(*pins.ready, port.number, ready);
        }
        const bool arrives = port.first <= next;
        *port.pins.rx_valid = arrives;
        if (arrives) {
            *port.pins.rx_payload = port.receive();
            nectar::add(arriving, port.number);
        }
        set(board.live, place, arrives || !ready || port.first != NEVER || port.ahead);
    });
    *pins.arriving = arriving;
    return static_cast<bool>(arriving);
}

// A port has sent a symbol that will have arrived at `arrival`.
inline void Engine::sent(const Port& port, std::int64_t arrival) {
    Board& receiver = *port.peer->board;
    const Group& group = *receiver.group;
    const bool taken = *port.pins.tx_payload < CONTROL_BIT ? receiver.takes_bytes : receiver.takes_controls;
    const bool wakes = !taken || port.faults;
    // The inputs of an edge are set at the edge before it.
    if (wakes && arrival != LOST && arrival - group.period < group.time_of(group.wake[receiver.slot])) {
        wake(receiver, group.edge_at(arrival) - 1);
    }
    if (!recorder) return;
    const std::uint16_t symbol = *port.pins.tx_payload;
    recorder->symbol(port.fiber, port.last_start, symbol);
    if (port.faults) {
        const Faults::Fate& fate = port.faults->last;
        recorder->struck(port.fiber, port.last_start, symbol, fate, fate.arrival > port.wire_free + port.delay_ps);
    }
}

// Has a board evaluated at an edge, if it would sleep till later.
void Engine::wake(Board& board, std::int64_t edge) {
    Group& group = *board.group;
    std::int64_t& at = group.wake[board.slot];
    edge = std::max(edge, group.edge);
    at = std::min(at, edge);
    group.due_first = std::min(group.due_first, edge);
    group.wake_first = std::min(group.wake_first, at);
    if (!group.open) group.next_ps = group.time_of(group.wake_first);
}

// All boards of the edge under way have been evaluated, or are now.
void Engine::settle(Group& group) {
    if (threads_) threads_->finish(*group.work);
    group.open = false;
    for (Board* board : group.under_way) settle(*board);
    group.next_ps = group.time_of(group.wake_first);
    measure(group);
}

// Finds the next edge that matters to a board, which has been evaluated at its last one.
void Engine::settle(Board& board) {
    const Pins& pins = board.pins;
    if (board.node) board.node->bus.settle();
    if (recorder && recorder->wants(EventGroup::BOARDS)) recorder->look(board.index, pins, board.seen);

    const std::int64_t edge = board.last;
    std::int64_t due = edge + 1;
    // A neighbour that was looked at behind this board may just have sent something.
    const bool stirred = pins.tick && tick_of(edge) <= board.stirred;
    if (*pins.idle && !board.symbol && !stirred && edge >= board.reset) {
        due = NEVER;
        if (board.has_cpu) {
            due = board.cpu.due(edge - board.reset);
            if (due != NEVER) due += board.reset;
            if (board.node) due = std::min(due, node_due(*board.node, edge));
            const std::uint32_t timer = *pins.cpu.wake_in;
            if (timer != DISARMED) due = std::min(due, edge + std::max<std::int64_t>(1, std::int64_t{timer} - 1));
        }
        for (std::size_t i = 0; i < board.wired; ++i) {
            const std::int64_t first = board.ports[i].first;
            if (first != NEVER) due = std::min(due, board.group->edge_at(first) - 1);
        }
        for (const Lines& lines : board.lines) due = std::min(due, lines.change(edge));
        due = std::max(due, edge + 1);
    }
    if (pins.napper && due == edge + 1) due = nap(board, edge);
    if (pins.relay && due == edge + 1 && edge % Relay::PERIOD == 0) due = nap_of_relay(board, edge);
    const std::int64_t at = sleep_ && !board.awake ? due : edge + 1;
    Group& group = *board.group;
    group.wake[board.slot] = at;
    group.wake_first = std::min(group.wake_first, at);
    group.due_first = std::min(group.due_first, due);
}

bool Engine::trace(const char* path, std::int64_t begin, std::int64_t end, std::int64_t limit) {
    std::vector<Board*> recorded;
    for (auto& board : boards) {
        if (board->recorded) recorded.push_back(board.get());
    }
    if (!rtl_) return false;
    waves_ = rtl_->record(path, std::move(recorded), begin, end, limit);
    return waves_ && waves_->good();
}

}  // namespace nectar
