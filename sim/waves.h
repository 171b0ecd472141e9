// Waveforms of some boards over a window of time, in one VCD file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "captions.h"
#include "rtl.h"
#include "verilated_vcd_c.h"

namespace nectar {

// A file that a full disk does not end the process for: what cannot be written is dropped, and told at the end. Its
// header gets the captions, too.
class WaveFile : public VerilatedVcdFile {
  public:
    explicit WaveFile(const Captions& captions) : captions_(captions) {}

    ssize_t write(const char* data, ssize_t size) override;

    // Writes lines behind what has been written.
    void append(const std::string& lines);

    int error = 0;             // errno of the first write that failed
    std::int64_t written = 0;  // bytes

  private:
    const Captions& captions_;
    std::string header_;
    bool declared_ = false;
};

class Waves : public Recording {
  public:
    // `boards` are all those of `context`. Recording ends when the file has `limit` bytes.
    Waves(const char* path, VerilatedContext& context, std::vector<Board*> boards, std::int64_t begin,
          std::int64_t end, std::int64_t limit);
    ~Waves() override { Waves::close(); }

    bool good() const override { return open_; }
    bool before(Engine& engine, std::int64_t time, std::int64_t until) override;
    std::int64_t full() const override { return full_ps_; }
    std::int64_t first() const override { return captions_.first(); }
    int close() override;

  private:
    void watch(Engine& engine);
    void flush();

    std::vector<Board*> boards_;
    Captions captions_{boards_};
    WaveFile writer_{captions_};
    VerilatedVcdC file_{&writer_};
    std::int64_t begin_;
    std::int64_t end_;
    std::int64_t limit_;
    std::int64_t full_ps_ = -1;
    std::int64_t pending_ = -1;  // time of changes not yet written
    bool open_ = false;
    bool watching_ = false;
};

}  // namespace nectar
