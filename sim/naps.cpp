// Naps: boards through which nothing but bytes of packets pass are evaluated later, at many edges at once.
// docs/naps.md.
#include <algorithm>

#include "engine.h"

namespace nectar {

namespace {

// A nap of fewer edges costs more than it saves.
constexpr std::int64_t LEAST_EDGES = 6;
// And one of fewer patterns of a relay.
constexpr std::uint32_t LEAST_PATTERNS = 2;
// Bytes that are put on a fiber at once.
constexpr std::size_t MOST_AHEAD = 1024;

}  // namespace

// The edge at which a board must be evaluated that has been at `edge`, and will be told nothing by then.
std::int64_t Engine::nap(Board& board, std::int64_t edge) {
    const Pins& pins = board.pins;
    Port& port = board.ports[0];
    // What the CPU writes may change what was to be sent.
    const CpuPins& cpu = pins.cpu;
    if (*cpu.valid && port.ahead && *cpu.write && pins.napper->minds(*cpu.address, *cpu.write_data)) recall(port);
    if (!may_nap_ || edge < board.reset || board.wired != 1) return edge + 1;
    const Napper::Rest rest = pins.napper->rest(board.cpu, edge - board.reset);
    if (rest.edges < LEAST_EDGES) return edge + 1;
    std::int64_t due = edge + rest.edges;
    const std::uint32_t timer = *cpu.wake_in;
    if (timer != DISARMED) due = std::min(due, edge + std::int64_t{timer} - 1);
    const std::int64_t arrival = rest.takes_controls ? NEVER : port.first_control(!rest.takes_bytes);
    Group& group = *board.group;
    if (arrival != NEVER) due = std::min(due, group.edge_at(arrival) - 1);
    if (due < edge + LEAST_EDGES) return edge + 1;
    if (rest.sends) {
        if (!port.ahead) {
            if (port.faults) return edge + 1;
            std::uint16_t symbols[MOST_AHEAD];
            const std::size_t many = pins.napper->ahead(symbols, MOST_AHEAD);
            if (many < LEAST_EDGES) return edge + 1;
            const std::int64_t first =
                port.send_ahead(group.time_of(edge + 1), group.period, symbols, static_cast<std::uint32_t>(many));
            Board& peer = *port.peer->board;
            const std::uint32_t control = first_control(symbols, static_cast<std::uint32_t>(many));
            const std::int64_t arrival = first + control * port.symbol_ps;
            if (!peer.takes_bytes) wake(peer, peer.group->edge_at(first) - 1);
            if (!peer.takes_controls && control != many) wake(peer, peer.group->edge_at(arrival) - 1);
        }
        due = std::min(due, group.edge_at(port.ahead_start));
        if (due < edge + LEAST_EDGES) return edge + 1;
    }
    board.naps = true;
    board.takes_bytes = rest.takes_bytes;
    board.takes_controls = rest.takes_controls;
    return due;
}

// The same for a board through which bytes flow.
std::int64_t Engine::nap_of_relay(Board& board, std::int64_t edge) {
    if (!may_nap_ || edge < board.reset || !board.orders.empty()) return edge + 1;
    Group& group = *board.group;
    Relay& relay = *board.pins.relay;
    const auto told = [](void* whom, Port& port, std::int64_t arrival) {
        Board& peer = *port.peer->board;
        if (!peer.takes_bytes) static_cast<Engine*>(whom)->wake(peer, peer.group->edge_at(arrival) - 1);
    };
    const std::uint32_t patterns =
        relay.repeats(board.ports.get(), board.wired, edge, group.time_of(edge), group.period, told, this);
    if (patterns < LEAST_PATTERNS) return edge + 1;
    board.naps = true;
    return edge + Relay::PERIOD * patterns;
}

void Engine::catch_up_relay(Board& board, std::int64_t edge) {
    const Group& group = *board.group;
    const std::int64_t edges = edge - board.last - 1;
    board.pins.relay->repeat(board.ports.get(), static_cast<std::uint32_t>(edges / Relay::PERIOD));
    board.evaluated += edges / Relay::PERIOD * Relay::PERIOD;
    for (std::int64_t at = edge - edges % Relay::PERIOD; at < edge; ++at) {
        exchange_some(board, group.time_of(at), group.time_of(at + 1));
        evaluate(board);
    }
    board.napped += edges;
    board.last = edge - 1;
}

// Evaluates a board that naps at all edges before `edge`.
void Engine::catch_up(Board& board, std::int64_t edge) {
    if (board.last + 1 >= edge) return;
    if (board.pins.relay) return catch_up_relay(board, edge);
    *board.pins.cpu.slept = 0;
    board.napped += edge - board.last - 1;
    Napper& napper = *board.pins.napper;
    Port& port = board.ports[0];
    const Group& group = *board.group;
    // Edges before the board is asked again to catch up with several.
    constexpr std::int64_t PAUSE = 3;
    std::int64_t pause = 0;
    for (std::int64_t at = board.last + 1; at < edge; ++at, --pause) {
        const std::int64_t before = at - 1 - board.reset;
        if (pause <= 0 && edge - at >= LEAST_EDGES) {
            const std::int64_t many = napper.catch_up(port, board.cpu, before, group.time_of(at), group.period,
                                                      edge - at - 1, board.evaluated);
            at += many;
            pause = many ? 1 : PAUSE;
        }
        const std::int64_t due = board.cpu.due(at - 1 - board.reset);
        bool awake = *port.pins.rx_valid || !*board.pins.idle || due <= at - board.reset;
        port.edge(group.time_of(at), group.time_of(at + 1), awake);
        board.cpu.edge(at - board.reset);
        *board.pins.clk = 1;
        board.eval(board.state);
        board.evaluated += awake;
    }
    board.last = edge - 1;
}

// Has a board caught up with the time if it naps; it goes on with its nap. At its next edge it is evaluated as usual.
void Engine::catch_up(Board& board) {
    const Group& group = *board.group;
    if (board.naps) catch_up(board, std::min(std::max(group.edge_at(now_), group.edge), group.wake[board.slot]));
}

// Ends a nap: what comes next may change what the board does. What it was to send later is taken back.
void Engine::rouse(Board& board) {
    catch_up(board);
    if (board.naps) wake(board, board.last + 1);
    for (std::size_t i = 0; i < board.wired; ++i) recall(board.ports[i]);
}

// Takes back what a port was to send, and what boards behind it were to send of that.
void Engine::recall(Port& port) {
    if (!port.ahead) return;
    port.recall();
    Board& peer = *port.peer->board;
    if (peer.pins.relay) rouse(peer);
}

std::int64_t Engine::napped(int index) {
    catch_up(*boards[index]);
    return boards[index]->napped;
}

std::uint64_t Engine::symbols(int fiber) {
    Port& port = *senders[fiber];
    catch_up(*port.board);
    return port.count;
}

}  // namespace nectar
