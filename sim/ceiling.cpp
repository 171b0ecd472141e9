// The speed to measure the engine against: the same boards and fibers in a plain C++ loop that evaluates every board at
// every edge, with no Python, no sleep and no event but the interrupts of the CABs.
//
//     ceiling TALKERS MICROSECONDS [BYTES]
//
// 16 CABs on one HUB; the first TALKERS of them send packets of BYTES (1024 with the CRC) to each other in a ring, as
// fast as the flow control lets them, with the register accesses that a datalink makes. Prints one line of JSON.

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <vector>

#include "board.h"
#include "nectar_numbers.h"
#include "port.h"
#include "verilated.h"

namespace {

using namespace nectar;

constexpr int CABS = 16;
constexpr std::uint32_t HUB_ID = 1;

struct Model {
    const Kind* kind;
    void* model;
    void* state;
    Pins pins;

    Model(const char* name, VerilatedContext* context) {
        const Kind* const* known = KINDS;
        while (std::string{(*known)->name} != name) ++known;
        kind = *known;
        model = kind->make(context, name, pins);
        state = kind->state(model);
    }
    ~Model() { kind->destroy(model); }

    void edge() {
        if (pins.clk_before) {
            *pins.clk_before = 0;
        } else {
            *pins.clk = 0;
            kind->quick(state);
        }
        *pins.clk = 1;
        kind->quick(state);
    }
};

// The CPU of a CAB: one access after the other, and what follows from an interrupt.
struct Cpu {
    struct Access {
        std::uint32_t address, data;
        bool write;
    };
    CpuPins pins;
    std::deque<Access> queue;
    bool waiting = false;  // for the response
    std::uint32_t send_to = 0, area = 0;
    bool talks = false;
    std::uint64_t received = 0, failed = 0;

    void write(std::uint32_t address, std::uint32_t data) { queue.push_back({address, data, true}); }

    void send() {
        write(reg::TX_COMMAND, reg::TX_COMMAND_WAIT_READY | hub::TEST_OPEN_RETRY << 16 | HUB_ID << 8 | send_to);
        write(reg::TX_ADDRESS, region::DATA);
        write(reg::TX_AREA, reg::TX_AREA_NOTIFY | reg::TX_AREA_START | reg::TX_AREA_END | reg::TX_AREA_CRC | area);
        write(reg::TX_COMMAND, hub::CLOSE_ALL << 16 | hub::ANY_HUB << 8);
    }

    void begin() {
        write(reg::IRQ_ENABLE, irq::PACKET | irq::RECEIVED | irq::SENT);
        if (talks) {
            send();
            send();
        }
    }

    void interrupt(std::uint32_t pending) {
        if (pending & irq::SENT) {
            write(reg::IRQ_PENDING, irq::SENT);
            send();
        }
        if (pending & irq::PACKET) {
            write(reg::RX_ADDRESS, region::DATA + 0x10000);
            write(reg::RX_START, 2048);
            write(reg::TX_READY, 0);
        }
        if (pending & irq::RECEIVED) {
            write(reg::RX_RELEASE, 0);
            ++received;
        }
    }

    void edge() {
        if (*pins.done) {
            const bool write = queue.front().write;
            queue.pop_front();
            waiting = false;
            failed += *pins.error;
            if (!write) interrupt(*pins.read_data);
        }
        if (*pins.valid && *pins.ready) {
            *pins.valid = 0;
            waiting = true;
        }
        if (waiting || *pins.valid) return;
        if (queue.empty()) {
            if (!*pins.irq) return;
            queue.push_back({reg::IRQ_PENDING, 0, false});
        }
        *pins.valid = 1;
        *pins.address = queue.front().address;
        *pins.write = queue.front().write;
        *pins.write_data = queue.front().data;
        *pins.select = 0xF;
    }
};

}  // namespace

int main(int count, char** arguments) {
    const int talkers = count > 1 ? std::atoi(arguments[1]) : CABS;
    const std::int64_t end = (count > 2 ? std::atoll(arguments[2]) : 1000) * 1'000'000;
    const std::uint32_t bytes = count > 3 ? static_cast<std::uint32_t>(std::atoi(arguments[3])) : 1024;
    if (talkers < 0 || talkers > CABS || end <= 0 || bytes < 20 || bytes > 1024) {
        std::fprintf(stderr, "ceiling TALKERS(0-16) MICROSECONDS [BYTES(20-1024)]\n");
        return 2;
    }
    VerilatedContext context;
    Model hub("hub16", &context);
    *hub.pins.hub_id = HUB_ID;
    std::vector<std::unique_ptr<Model>> cabs;
    std::deque<Port> hub_ports(CABS), cab_ports(CABS);
    std::vector<Cpu> cpus(CABS);
    for (int i = 0; i < CABS; ++i) {
        cabs.push_back(std::make_unique<Model>("cab", &context));
        cab_ports[i].pins = cabs[i]->pins.ports[0];
        hub_ports[i].pins = hub.pins.ports[i];
        join(cab_ports[i], hub_ports[i], prototype::SYMBOL_PS, prototype::DELAY_PS, 2 * i);
        cpus[i].pins = cabs[i]->pins.cpu;
        cpus[i].talks = i < talkers;
        cpus[i].send_to = static_cast<std::uint32_t>((i + 1) % (talkers ? talkers : 1));
        cpus[i].area = bytes - 4;
        cpus[i].begin();
    }

    const auto begun = std::chrono::steady_clock::now();
    bool symbol = false;
    std::int64_t hub_time = 0, cab_time = 0, cycles = 0, cab_cycles = 0;
    while (hub_time < end) {
        if (hub_time <= cab_time) {
            for (Port& port : hub_ports) port.edge(hub_time, hub_time + prototype::HUB_PERIOD_PS, symbol);
            *hub.pins.rst = cycles < RESET_EDGES - 1;
            hub.edge();
            hub_time += prototype::HUB_PERIOD_PS;
            ++cycles;
        } else {
            for (int i = 0; i < CABS; ++i) {
                cab_ports[i].edge(cab_time, cab_time + prototype::CAB_PERIOD_PS, symbol);
                *cabs[i]->pins.rst = cab_cycles < RESET_EDGES - 1;
                if (cab_cycles >= RESET_EDGES) cpus[i].edge();
                cabs[i]->edge();
            }
            cab_time += prototype::CAB_PERIOD_PS;
            ++cab_cycles;
        }
    }
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
    std::uint64_t packets = 0, failed = 0;
    for (const Cpu& cpu : cpus) {
        packets += cpu.received;
        failed += cpu.failed;
    }
    std::printf("{\"talkers\": %d, \"cycles\": %lld, \"seconds\": %.6f, \"cycles_per_second\": %.0f, "
                "\"packets\": %llu, \"bus_errors\": %llu}\n",
                talkers, static_cast<long long>(cycles), seconds, cycles / seconds,
                static_cast<unsigned long long>(packets), static_cast<unsigned long long>(failed));
    return 0;
}
