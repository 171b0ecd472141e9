// What comes from outside into a running engine: software, and faults.
#include "engine.h"

#include <algorithm>

namespace nectar {

// -- software ---------------------------------------------------------------------------------------

Processor& Engine::cpu(int index) {
    Board& board = board_of(index);
    return index == board.index ? board.cpu : board.node->cpu;
}

void Engine::start(int index, bool handler) {
    Board& board = board_of(index);
    catch_up(board);
    cpu(index).start(handler);
    wake(board, board.group->edge_at(now_));
}

void Engine::halt(int index) { cpu(index).halt(); given_ = true; }

void Engine::wake(int index) {
    Board& board = board_of(index);
    catch_up(board);
    cpu(index).wake();
    wake(board, board.group->edge_at(now_));
}

// Its CPU stands still from its next edge on; not while its software has a turn.
void Engine::stop(int index) {
    rest();
    Board& board = board_of(index);
    catch_up(board);
    cpu(index).halt();
    if (index == board.index) return;
    board.node->bus.fail();
    wake(board, board.group->edge_at(now_));
}

void Engine::attach(int index, bool handler, const std::int64_t* words, std::size_t count) {
    cpu(index).attach(handler, words, count);
}

void Engine::give(std::size_t operations, std::size_t bytes) {
    turns_[turn_].cpu->give(words.data(), operations, data.data(), bytes);
    given_ = true;
}

Code Engine::turn_code(Turn turn) const {
    switch (turn) {
        case Turn::RESUME: return Code::RESUME;
        case Turn::INTERRUPT: return Code::INTERRUPT;
        case Turn::UNHANDLED: return Code::UNHANDLED;
        default: return Code::FAULT;
    }
}

// Lets the boards whose software had to run finish their edge. Returns whether software must run again: `code` says
// how.
bool Engine::turns(Code& code) {
    for (; turn_ < turns_.size(); ++turn_) {
        Asked& asked = turns_[turn_];
        for (;;) {
            if (asked.turn != Turn::NONE && !given_) {
                given_ = asked.turn == Turn::UNHANDLED || asked.turn == Turn::FAULT;  // these want no answer
                code = turn_code(asked.turn);
                return true;
            }
            if (asked.turn == Turn::NONE) break;
            given_ = false;
            asked.turn = asked.cpu->proceed();
        }
        if (turn_ + 1 == turns_.size() || turns_[turn_ + 1].board != asked.board) evaluate(*asked.board);
    }
    turns_.clear();
    turn_ = 0;
    if (alone()) settle(*stepped_);
    stepped_ = nullptr;
    return false;
}

// -- faults -----------------------------------------------------------------------------------------

std::vector<Fault>& Engine::faults(int fiber) {
    if (!lines.empty()) return lines[fiber]->faults().all;
    Port& port = *senders[fiber];
    rouse(*port.board);
    rouse(*port.peer->board);
    if (!port.faults) port.faults = std::make_unique<Faults>();
    return port.faults->all;
}

// A board that sleeps finds out anew when its lines change.
void Engine::look_again(int fiber) {
    if (lines.empty()) return;
    rest();
    Board& board = *lines[fiber]->peer();
    wake(board, std::max(board.group->edge_at(now_), board.group->edge));
}

int Engine::fault(int fiber, const Fault& fault) {
    std::vector<Fault>& all = faults(fiber);
    all.push_back(fault);
    if (!lines.empty()) {
        look_again(fiber);
        return static_cast<int>(all.size()) - 1;
    }
    Port& port = *senders[fiber];
    if (fault.harm == FaultEffect::CUT) {
        Fault& cut = port.faults->all.back();
        cut.hits = cut.symbols = port.cut(fault.from);
        if (recorder) recorder->cut(fiber, cut.symbols);
    }
    return static_cast<int>(all.size()) - 1;
}

void Engine::end(int fiber, int number, std::int64_t until) {
    Fault& fault = faults(fiber)[number];
    fault.until = std::min(fault.until, until);
    look_again(fiber);
}

void Engine::reset(int index) {
    rest();
    Board& board = *boards[index];
    const std::int64_t edge = std::max(board.group->edge_at(now_), board.group->edge);
    rouse(board);
    board.reset = edge + RESET_EDGES + 1;
    board.orders.clear();
    if (board.has_cpu) {
        Processor fresh;
        fresh.pins = board.cpu.pins;
        fresh.records(recorder.get(), index);
        board.cpu = std::move(fresh);
        *board.cpu.pins.valid = 0;
    }
    wake(board, edge);
}

bool Engine::inject(int index, const std::uint16_t* symbols, std::size_t count) {
    Board& board = *boards[index];
    for (int number = 0; board.service < 0 && number < static_cast<int>(board.pins.ports.size()); ++number) {
        const std::uint8_t* pin = board.pins.ports[number].rx_valid;
        Port* const end = board.ports.get() + board.wired;
        const auto is_wired = [&](const Port& port) { return port.pins.rx_valid == pin; };
        if (std::none_of(board.ports.get(), end, is_wired)) board.service = number;
    }
    if (board.service < 0) return false;
    board.orders.insert(board.orders.end(), symbols, symbols + count);
    wake(board, board.group->edge_at(now_));
    return true;
}

// Gives a board the next symbol at its port without fiber, once it is not reset any more.
void Engine::serve(Board& board, std::int64_t edge) {
    const PortPins& pins = board.pins.ports[board.service];
    const bool valid = !board.orders.empty() && edge >= board.reset;
    if (valid) {
        *pins.rx_payload = board.orders.front();
        board.orders.erase(board.orders.begin());
        board.symbol = true;
    }
    *pins.rx_valid = valid;
    if (board.pins.arriving) set(*board.pins.arriving, static_cast<unsigned>(board.service), valid);
}

}  // namespace nectar
