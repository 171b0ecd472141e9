#include "waves.h"

#include <algorithm>
#include <cerrno>

#include "engine.h"

namespace nectar {

ssize_t WaveFile::write(const char* data, ssize_t size) {
    if (error) return size;
    if (!declared_) {
        header_.append(data, static_cast<std::size_t>(size));
        if (header_.find("$enddefinitions") == std::string::npos) return size;
        declared_ = true;
        captions_.declare(header_);
        append(header_);
        return size;
    }
    const ssize_t written = VerilatedVcdFile::write(data, size);
    this->written += std::max<ssize_t>(written, 0);
    if (written >= 0 || errno == EAGAIN || errno == EINTR) return written;
    error = errno;
    return size;
}

void WaveFile::append(const std::string& lines) {
    for (std::size_t done = 0; done < lines.size();) {
        const ssize_t took = write(lines.data() + done, static_cast<ssize_t>(lines.size() - done));
        done += static_cast<std::size_t>(std::max<ssize_t>(took, 0));
    }
}

Waves::Waves(const char* path, VerilatedContext& context, std::vector<Board*> boards, std::int64_t begin,
             std::int64_t end, std::int64_t limit)
    : boards_(std::move(boards)), begin_(begin), end_(end), limit_(limit) {
    file_.set_time_unit("1ps");
    file_.set_time_resolution("1ps");
    context.trace(&file_, 99);
    file_.open(path);
    open_ = file_.isOpen();
}

bool Waves::before(Engine& engine, std::int64_t time, std::int64_t until) {
    if (!open_) return false;
    if (!watching_) {
        if (time < begin_) return false;
        watch(engine);
        return true;
    }
    Group* falling = nullptr;
    std::int64_t fall = time;
    for (auto& group : engine.groups_) {
        if (group->fall_ps < fall) {
            fall = group->fall_ps;
            falling = group.get();
        }
    }
    if (writer_.written >= limit_) {
        full_ps_ = fall;
        close();
        return false;
    }
    if (fall >= end_) {
        close();
        return false;
    }
    if (fall >= until) return false;
    if (pending_ >= 0 && pending_ < fall) flush();
    pending_ = fall;
    if (!falling) return false;
    falling->fall_ps = NEVER;
    for (Board* board : boards_) {
        if (board->group != falling) continue;
        *board->pins.clk = 0;
        board->eval(board->state);
    }
    return true;
}

// The window begins: its boards do not sleep from here on.
void Waves::watch(Engine& engine) {
    watching_ = true;
    for (Board* board : boards_) {
        board->awake = true;
        board->group->recorded = true;
        engine.wake(*board, board->group->edge_at(begin_));
    }
}

void Waves::flush() {
    file_.dump(static_cast<std::uint64_t>(pending_));
    const std::string& captions = captions_.changes(pending_);
    if (!captions.empty()) {
        file_.flush();
        writer_.append(captions);
    }
    pending_ = -1;
}

int Waves::close() {
    if (!open_) return writer_.error;
    if (pending_ >= 0) flush();
    for (Board* board : boards_) {
        board->awake = false;
        board->group->recorded = false;
        board->group->fall_ps = NEVER;
    }
    file_.close();
    open_ = false;
    return writer_.error;
}

std::unique_ptr<Recording> make_waves(const char* path, VerilatedContext& context, std::vector<Board*> boards,
                                      std::int64_t begin, std::int64_t end, std::int64_t limit) {
    return std::make_unique<Waves>(path, context, std::move(boards), begin, end, limit);
}

}  // namespace nectar
