#include "rtl.h"

#include "verilated.h"

namespace nectar {

namespace {

class Contexts : public Rtl {
  public:
    Contexts() {
        for (VerilatedContext& context : contexts_) {
            context.threads(1);  // a model has none of its own
            context.traceEverOn(true);
            context.timeunit(-12);
            context.timeprecision(-12);
        }
    }

    VerilatedContext* context(bool recorded) override { return &contexts_[recorded]; }

    std::unique_ptr<Recording> record(const char* path, std::vector<Board*> boards, std::int64_t begin,
                                      std::int64_t end, std::int64_t limit) override {
        return make_waves(path, contexts_[true], std::move(boards), begin, end, limit);
    }

  private:
    VerilatedContext contexts_[2];
};

}  // namespace

std::unique_ptr<Rtl> make_rtl() { return std::make_unique<Contexts>(); }

}  // namespace nectar
