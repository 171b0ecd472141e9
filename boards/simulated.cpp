// Simulated boards: the gates of a cluster, or of a desk with several boards, with a pseudo-terminal where a board has
// its USB serial. Arguments: cycles of a bit on a line, number of lines. Prints the names of the pseudo-terminals, then
// runs until it is told to end.
// On the standard error it tells of lights that must not go on.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

#include "Vboard.h"

namespace {

// Bits without anything happening after which the board sleeps until a byte comes.
constexpr int SLEEP_BITS = 32;
// Clock cycles between two looks for bytes while the board works.
constexpr int LOOK_CYCLES = 256;

[[noreturn]] void end(const char* what) {
    perror(what);
    exit(1);
}

int terminal(std::string& name) {
    const int fd = posix_openpt(O_RDWR | O_NOCTTY);
    if (fd < 0 || grantpt(fd) || unlockpt(fd)) end("no pseudo-terminal");
    name = ptsname(fd);
    const int other = open(name.c_str(), O_RDWR | O_NOCTTY);  // stays open: hosts may come and go
    termios mode;
    if (other < 0 || tcgetattr(other, &mode)) end(name.c_str());
    cfmakeraw(&mode);
    if (tcsetattr(other, TCSANOW, &mode)) end(name.c_str());
    return fd;
}

// The far end of the board's serial line, a clock cycle at a time.
class Line {
  public:
    Line(int fd, int cycles) : fd_(fd), cycles_(cycles) {}

    // What the board's rx pin is to show in this cycle.
    bool rx() {
        if (!out_left_) {
            if (next_ == input_.size()) return true;
            out_ = 0x200u | static_cast<unsigned char>(input_[next_++]) << 1;
            out_bits_ = 10;
            out_left_ = cycles_;
        }
        const bool bit = out_ & 1;
        if (!--out_left_ && --out_bits_) {
            out_ >>= 1;
            out_left_ = cycles_;
        }
        return bit;
    }

    // What it shows on tx.
    void tx(bool bit) {
        if (in_bits_ < 0) {
            if (bit) return;
            in_bits_ = 0;
            in_left_ = cycles_ + cycles_ / 2;
        }
        if (--in_left_) return;
        in_left_ = cycles_;
        if (in_bits_ < 8) {
            in_ = in_ >> 1 | (bit ? 0x80 : 0);
            ++in_bits_;
            return;
        }
        in_bits_ = -1;
        const char byte = static_cast<char>(in_);
        while (write(fd_, &byte, 1) < 0 && errno == EINTR) {}
    }

    bool idle() const { return !out_left_ && next_ == input_.size() && in_bits_ < 0; }

    int fd() const { return fd_; }

    // Takes in what the host has sent.
    void look() {
        if (next_ < input_.size()) return;
        pollfd wait{fd_, POLLIN, 0};
        if (poll(&wait, 1, 0) <= 0 || !(wait.revents & POLLIN)) return;
        char buffer[4096];
        const ssize_t count = read(fd_, buffer, sizeof buffer);
        if (count > 0) {
            input_.assign(buffer, static_cast<std::size_t>(count));
            next_ = 0;
        }
    }

  private:
    const int fd_;
    const int cycles_;
    std::string input_;
    std::size_t next_ = 0;
    unsigned out_ = 0;
    int out_bits_ = 0;
    int out_left_ = 0;
    unsigned in_ = 0;
    int in_bits_ = -1;
    int in_left_ = 0;
};

// Until a host has sent something.
void sleep(const std::vector<Line>& lines) {
    std::vector<pollfd> waits;
    for (const Line& line : lines) waits.push_back({line.fd(), POLLIN, 0});
    poll(waits.data(), waits.size(), -1);
}

// CABs with the light of a lost symbol; a cluster has none.
template <class Board>
auto lost(const Board& board, int) -> decltype(board.lost + 0u) {
    return board.lost;
}
template <class Board>
unsigned lost(const Board&, long) {
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    const int cycles = argc > 2 ? atoi(argv[1]) : 0;
    const int count = argc > 2 ? atoi(argv[2]) : 0;
    if (cycles < 4 || count < 1) {
        fprintf(stderr, "give the cycles of a bit, and the number of lines\n");
        return 2;
    }
    std::vector<Line> lines;
    for (int i = 0; i < count; ++i) {
        std::string name;
        lines.emplace_back(terminal(name), cycles);
        printf("%s%c", name.c_str(), i + 1 < count ? ' ' : '\n');
    }
    fflush(stdout);
    VerilatedContext context;
    Vboard board(&context);
    const auto clock = [&] {
        board.clk = 0;
        board.eval();
        board.clk = 1;
        board.eval();
    };
    board.rst = 1;
    board.rx = (1u << count) - 1;
    for (int i = 0; i < 8; ++i) clock();
    board.rst = 0;
    unsigned told = 0;
    for (long quiet = 0, edges = 0;; ++edges) {
        bool look = edges % LOOK_CYCLES == 0;
        if (quiet >= static_cast<long>(SLEEP_BITS) * cycles) {
            sleep(lines);
            quiet = 0;
            look = true;
        }
        for (Line& line : lines) {
            if (look) line.look();
        }
        unsigned rx = 0;
        for (int i = 0; i < count; ++i) rx |= static_cast<unsigned>(lines[i].rx()) << i;
        board.rx = rx;
        clock();
        bool idle = !board.busy;
        for (int i = 0; i < count; ++i) {
            lines[i].tx(board.tx >> i & 1);
            idle = idle && lines[i].idle();
        }
        quiet = idle ? quiet + 1 : 0;
        for (unsigned fresh = lost(board, 0) & ~told; fresh; fresh &= fresh - 1) {
            fprintf(stderr, "CAB%d: a symbol was lost\n", __builtin_ctz(fresh) + 1);
        }
        told |= lost(board, 0);
    }
}
