#include "recorder.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace nectar {

namespace {

constexpr std::uint32_t POLYNOMIAL = 0xEDB88320;
constexpr unsigned TRAILER = 4;

constexpr std::array<std::uint32_t, 256> crc_table() {
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
        std::uint32_t value = byte;
        for (int bit = 0; bit < 8; ++bit) value = value & 1 ? value >> 1 ^ POLYNOMIAL : value >> 1;
        table[byte] = value;
    }
    return table;
}

constexpr auto CRC = crc_table();

// The place of the lowest bit.
unsigned place_of(std::uint32_t bits) {
    unsigned place = 0;
    while (!(bits >> place & 1)) ++place;
    return place;
}

}  // namespace

void Recorder::add(std::int64_t time, EventKind kind, unsigned detail, unsigned place, std::uint32_t a, std::int64_t b,
                   std::uint32_t c, const std::uint8_t* data, std::size_t size) {
    if (closed_) {
        ++dropped;
        return;
    }
    const Event event{time, static_cast<std::uint8_t>(kind), static_cast<std::uint8_t>(detail),
                      static_cast<std::uint16_t>(place), a, b, c, static_cast<std::uint32_t>(size)};
    const std::size_t at = records.size();
    records.resize(at + sizeof event + (size + EVENT_ALIGN - 1) / EVENT_ALIGN * EVENT_ALIGN);
    std::memcpy(records.data() + at, &event, sizeof event);
    if (size) std::memcpy(records.data() + at + sizeof event, data, size);
}

void Recorder::symbol(int fiber, std::int64_t start, std::uint16_t symbol) {
    if (wants(EventGroup::SYMBOLS)) add(start, EventKind::SYMBOL, 0, fiber, symbol);
    Tap& tap = taps_[fiber];
    if (symbol & CONTROL_BIT) {
        control(tap, fiber, start, static_cast<Control>(symbol));
        return;
    }
    for (Frame* frame : {&tap.reply, &tap.command}) {
        if (!frame->missing) continue;
        frame->bytes = frame->bytes << 8 | symbol;
        if (--frame->missing == 0) {
            this->frame(*frame, frame == &tap.reply ? EventKind::REPLY : EventKind::COMMAND, fiber, start, 0);
        }
        return;
    }
    if (!tap.open) return;
    if (tap.length++ >= TRAILER) tap.crc = tap.crc >> 8 ^ CRC[(tap.crc ^ tap.last >> 24) & 0xFF];
    tap.last = tap.last << 8 | symbol;
    if (tap.head.size() < HEAD_BYTES || wants(EventGroup::BYTES)) tap.head.push_back(static_cast<std::uint8_t>(symbol));
}

void Recorder::control(Tap& tap, int fiber, std::int64_t start, Control code) {
    switch (code) {
        case Control::IDLE: return;
        case Control::READY:
            if (wants(EventGroup::CONTROLS)) add(start, EventKind::READY, 0, fiber, 0);
            return;
        default: break;
    }
    // Any other control code ends a reply that lacks bytes, and all but a reply end such a command.
    const unsigned replying = tap.reply.missing;
    tap.reply.missing = 0;
    if (replying) frame(tap.reply, EventKind::REPLY, fiber, start, replying);
    if (code == Control::REPLY) {
        tap.reply = {COMMAND_LENGTH - 1, 0, start};
        return;
    }
    const bool known = code == Control::START || code == Control::END || code == Control::COMMAND;
    if (const unsigned commanding = tap.command.missing; known && commanding) {
        tap.command.missing = 0;
        frame(tap.command, EventKind::COMMAND, fiber, start, commanding);
    }
    if (code == Control::COMMAND) tap.command = {COMMAND_LENGTH - 1, 0, start};
    if (code == Control::START) {
        if (tap.open) packet(tap, fiber, start, static_cast<unsigned>(PacketMark::CUT));
        tap.open = true;
        tap.begin = start;
        tap.length = tap.last = 0;
        tap.crc = ~0u;
        tap.head.clear();
        if (wants(EventGroup::PACKETS)) add(start, EventKind::PACKET_START, 0, fiber, tap.number);
        ++tap.number;
    }
    if (code == Control::END && tap.open) packet(tap, fiber, start, 0);
}

// A command or a reply has ended, `missing` bytes too early.
void Recorder::frame(Frame& frame, EventKind kind, int fiber, std::int64_t start, unsigned missing) {
    if (wants(EventGroup::CONTROLS)) add(start, kind, missing, fiber, frame.bytes, frame.begin);
}

void Recorder::packet(Tap& tap, int fiber, std::int64_t end, unsigned mark) {
    tap.open = false;
    if (!wants(EventGroup::PACKETS)) return;
    if (tap.length >= TRAILER && ~tap.crc == tap.last) mark |= static_cast<unsigned>(PacketMark::CRC_GOOD);
    add(end, EventKind::PACKET, mark, fiber, tap.number - 1, tap.begin, tap.length, tap.head.data(), tap.head.size());
}

void Recorder::look(int place, const Pins& pins, Seen& seen) {
    if (pins.cpu.irq && *pins.cpu.irq != seen.irq) {
        seen.irq = *pins.cpu.irq;
        add(now, EventKind::IRQ, seen.irq, place, 0);
    }
    const Probes& probes = pins.probes;
    if (!probes.owned.empty()) {
        look_node(place, probes, seen);
        return;
    }
    seen.inputs.resize(probes.outputs.size(), -1);
    seen.ready.resize(probes.outputs.size(), 1);  // as after a reset
    for (std::uint32_t output = 0; output < probes.outputs.size(); ++output) {
        const Probes::Output& probe = probes.outputs[output];
        const std::int16_t input = *probe.connected & probe.mask ? *probe.owner : -1;
        const std::uint8_t ready = (*probe.ready & probe.mask) != 0;
        if (ready != seen.ready[output]) add(now, EventKind::READY_BIT, ready, place, output);
        seen.ready[output] = ready;
        connection(place, output, input, seen.inputs[output]);
    }
    seen.steps.resize(probes.levels.size());
    for (unsigned port = 0; port < probes.levels.size(); ++port) {
        const std::uint16_t level = *probes.levels[port];
        const std::uint16_t step = level / QUEUE_STEP;
        if (step == seen.steps[port]) continue;
        add(now, EventKind::QUEUE, port, place, level);
        seen.steps[port] = step;
    }
    seen.channels.resize(probes.channels.size());
    for (std::uint32_t channel = 0; channel < probes.channels.size(); ++channel) {
        const std::uint8_t busy = *probes.channels[channel] != 0;
        if (busy != seen.channels[channel]) add(now, EventKind::DMA, busy, place, channel);
        seen.channels[channel] = busy;
    }
}

void Recorder::connection(int place, std::uint32_t output, std::int16_t input, std::int16_t& before) {
    if (input == before) return;
    if (before >= 0) add(now, EventKind::DISCONNECTED, 0, place, output, 0, before);
    if (input >= 0) add(now, EventKind::CONNECTED, 0, place, output, 0, input);
    before = input;
}

void Recorder::look_node(int place, const Probes& probes, Seen& seen) {
    seen.inputs.resize(probes.owned.size(), -1);
    seen.ready.resize(probes.owned.size());
    for (std::size_t at = 0; at < probes.owned.size(); ++at) {
        const Probes::Owned& output = probes.owned[at];
        const std::uint32_t owner = *output.owner;
        connection(place, output.number, owner ? output.users[place_of(owner)] : -1, seen.inputs[at]);
        const std::uint8_t ready = *output.ready != 0;
        if (ready != seen.ready[at]) add(now, EventKind::READY_BIT, ready, place, output.number);
        seen.ready[at] = ready;
    }
    seen.asked.resize(probes.inputs.size(), -1);
    for (std::size_t at = 0; at < probes.inputs.size(); ++at) {
        const Probes::Input& input = probes.inputs[at];
        const std::uint32_t asks = *input.asks;
        const std::int16_t output = asks ? static_cast<std::int16_t>(place_of(asks)) : -1;
        std::int16_t& before = seen.asked[at];
        if (output == before) continue;
        if (before >= 0) {
            bool granted = false;
            for (std::size_t other = 0; other < probes.owned.size(); ++other) {
                granted |= probes.owned[other].number == before && seen.inputs[other] == input.number;
            }
            if (!granted) add(now, EventKind::ASKED, 0, place, before, *input.probe, input.number);
        }
        if (output >= 0) add(now, EventKind::ASKED, 1, place, output, *input.probe, input.number);
        before = output;
    }
    seen.channels.resize(probes.movers.size());
    for (std::size_t at = 0; at < probes.movers.size(); ++at) {
        const Probes::Mover& mover = probes.movers[at];
        const std::uint8_t works =
            std::any_of(mover.works.begin(), mover.works.end(), [](const Signal& signal) { return *signal != 0; });
        if (works != seen.channels[at]) add(now, EventKind::DMA, works, place, mover.channel);
        seen.channels[at] = works;
    }
    for (const Probes::Stored& stored : probes.stored) {
        const bool arrived = *stored.arrived != 0;
        if (arrived && !seen.arrived) {
            unsigned mark = 0;
            for (std::size_t bit = 0; bit < stored.marks.size(); ++bit) mark |= (*stored.marks[bit] != 0) << bit;
            add(now, EventKind::RECEIVED, mark, place, *stored.words);
        }
        seen.arrived = arrived;
    }
    for (const Signal& signal : probes.pending) {
        if (*signal != seen.pending) add(now, EventKind::PENDING, 0, place, *signal);
        seen.pending = *signal;
    }
}

void Recorder::struck(int fiber, std::int64_t start, std::uint16_t symbol, const Faults::Fate& fate, bool delayed) {
    if (!wants(EventGroup::PACKETS)) return;
    unsigned mark = 0;
    if (!fate.copies) mark |= static_cast<unsigned>(FaultMark::LOST);
    if (fate.copies > 1 || fate.more) mark |= static_cast<unsigned>(FaultMark::DOUBLED);
    if (fate.copies && fate.symbol != symbol) mark |= static_cast<unsigned>(FaultMark::DAMAGED);
    if (fate.copies && delayed) mark |= static_cast<unsigned>(FaultMark::DELAYED);
    if (mark) add(start, EventKind::FAULT, mark, fiber, symbol, fate.arrival, fate.symbol);
}

}  // namespace nectar
