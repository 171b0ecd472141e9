// What a fast CAB is going to send, as far as it is known. docs/naps.md.
#include "cab_flow.h"

#include <algorithm>

namespace nectar::fast {

// Goes through what leaves fiber out one symbol behind the other, as far as each piece is lined up in time whenever
// its memory is given to it, and nobody is told when it leaves: of_item(item) for the items, and entries without bytes,
// of_area(area, flags) for areas that have to be read. Both return whether to go on.
template <typename OfItem, typename OfArea>
void FiberOut::look_ahead(OfItem of_item, OfArea of_area) const {
    // Edges until an entry is lined up, and a word of an area, at most. With AHEAD items so many symbols at least leave
    // before the next is needed.
    constexpr std::int32_t ENTRY = 1, WORD = 4, LINED_UP = AHEAD - 1;
    bool goes = may_go();
    std::int32_t slack = 0;  // symbols that are lined up, each of which leaves in an edge at least
    const auto item = [&](const Item& item, unsigned symbols) {
        if (item.notify || !symbols || (item.wait_ready && !goes)) return false;
        goes = goes && !(item.prefix && item.symbol == static_cast<std::uint16_t>(Control::START));
        slack += static_cast<std::int32_t>(symbols);
        return of_item(item);
    };
    const auto spend = [&](std::int32_t edges) { return (slack = std::min(slack, LINED_UP) - edges) > 0; };
    const auto area = [&](const Place& area, std::uint32_t flags) {
        const std::uint32_t first = std::min(4 - (area.address & 3), area.length);
        if (!spend(WORD)) return false;
        if (flags & reg::TX_AREA_START) goes = false;
        slack += static_cast<std::int32_t>(first);
        if (first < area.length) {
            if (!spend(WORD)) return false;
            slack += static_cast<std::int32_t>((area.address + area.length - 1) & 3) + 1;
        }
        return of_area(area, flags) && !(flags & reg::TX_AREA_NOTIFY);
    };
    if (!item(item_, symbols_left())) return;
    for (unsigned n = 0; n < items_.level(); ++n) {
        if (!item(items_.at(n), items_.at(n).symbols())) return;
    }
    if (state_ != State::NEXT && !area({address_, remaining_}, flags_)) return;
    for (unsigned n = 0; n < entries_.level(); ++n) {
        const Entry& entry = entries_.at(n);
        if (!spend(ENTRY)) return;
        if (has_bytes(entry)) {
            if (!area({entry.address, entry.value & reg::TX_AREA_LENGTH}, entry.value)) return;
        } else {
            const Item lined_up = item_of(entry);
            if (!item(lined_up, lined_up.symbols())) return;
        }
    }
}

// The symbols that leave next: those that wait for the fiber, and those that are or will be lined up, but for the last
// four. A checksum is known as soon as all of its packet has been read.
std::size_t FiberOut::ahead(const std::uint32_t* memory, std::uint16_t* symbols, std::size_t most) const {
    constexpr std::size_t KEPT = 4;
    // A byte more than these leaves an item, and counts, if only one waits for the fiber now.
    const std::uint32_t untold = threshold > progress_ ? threshold - progress_ - 1 : LENGTH_MASK - progress_;
    most = std::min<std::size_t>(most, untold + KEPT - 1);
    if (most <= 2 * KEPT || (item_.crc && byte_number_)) return 0;
    std::size_t count = 0;
    symbols[count++] = front_.symbol;
    if (spare_valid_) symbols[count++] = spare_.symbol;
    const bool sums = special_ || !item_.is_plain();
    Crc32 crc = crc_;
    InternetSum sum = sum_;
    bool whole = true;  // they are of all of the packet so far
    const auto add = [&](std::uint16_t symbol, bool is_data) {
        if (count < most) symbols[count++] = symbol;
        if (!sums || !is_data) return;
        crc.add(static_cast<std::uint8_t>(symbol));
        sum.add(static_cast<std::uint8_t>(symbol));
    };
    const auto add_bytes = [&](std::uint32_t word, unsigned first, unsigned last, bool is_data) {
        for (unsigned lane = first; lane <= last; ++lane) add(word >> (24 - 8 * lane) & 0xFF, is_data);
    };
    // Whether it is no start of a packet of which software is told when so many bytes have left.
    const auto start = [&](std::uint16_t symbol) {
        if (symbol != static_cast<std::uint16_t>(Control::START)) return true;
        crc.begin();
        sum.begin();
        whole = true;
        return !threshold;
    };
    const auto of_item = [&](const Item& item) {
        if (item.prefix) {
            if (!start(item.symbol)) return false;
            add(item.symbol, !(item.symbol & CONTROL_BIT) && !item.command);
        }
        if (item.lanes) add_bytes(item.word, item.first, item.last, !item.command);
        if (item.crc && !whole) return false;
        if (item.crc) {
            const std::uint32_t checksum = item.internet ? std::uint32_t{sum.value()} << 16 : crc.value();
            add_bytes(checksum, 0, item.checksum_bytes() - 1, true);
        }
        if (item.end) add(static_cast<std::uint16_t>(Control::END), false);
        return count < most;
    };
    const auto of_area = [&](const Place& area, std::uint32_t flags) {
        if (flags & reg::TX_AREA_START) {
            if (!start(static_cast<std::uint16_t>(Control::START))) return false;
            add(static_cast<std::uint16_t>(Control::START), false);
        }
        whole = false;
        const bool closes = flags & (reg::TX_AREA_CRC | reg::TX_AREA_END | reg::TX_AREA_NOTIFY);
        std::uint32_t at = area.address;
        const std::uint32_t end = at + (closes ? std::max(area.length, 4u) - 4 : area.length);
        const auto add_part = [&] {
            if (at >= end) return;
            const std::uint32_t last = std::min(end - 1, at | 3);
            for (; at <= last && count < most; ++at) symbols[count++] = memory[at / 4] >> (24 - 8 * (at & 3)) & 0xFF;
        };
        if (at & 3) add_part();
        std::size_t words = at < end && count < most ? std::min<std::size_t>(end - at, most - count) / 4 : 0;
        for (; words; --words, at += 4, count += 4) {
            const std::uint32_t word = memory[at / 4];
            for (unsigned lane = 0; lane < 4; ++lane) symbols[count + lane] = word >> (24 - 8 * lane) & 0xFF;
        }
        add_part();
        return !closes && count < most;
    };
    look_ahead(of_item, of_area);
    return count > KEPT ? count - KEPT : 0;
}

std::int32_t FiberOut::Flow::most(const FiberOut& out, const Port& port, const Edges& edges, bool lists) {
    if (!out.runs() || (lists && out.state_ == State::NEXT)) return 0;
    // How long so many symbols take: two may wait for the fiber already.
    const auto time_of = [&](std::int64_t symbols) {
        return std::max(symbols, (symbols - 2) * port.symbol_ps / edges.period - 1);
    };
    const auto enough = static_cast<std::uint32_t>(edges.count) + 1;
    // The item at work counts once, as a whole.
    std::uint32_t symbols = out.symbols_left() - out.item_.symbols();
    const auto of_item = [&](const Item& item) {
        symbols += item.symbols();
        return symbols < enough;
    };
    const auto of_area = [&](const Place& area, std::uint32_t flags) {
        // Without its last word, which may tell of itself.
        symbols += std::max(area.length, 4u) - 4;
        if (!(flags & reg::TX_AREA_NOTIFY)) symbols += std::min(area.length, 4u);
        return !lists && symbols < enough;
    };
    // Mostly words of one area fill all of this; then nothing is looked at one by one.
    const bool within = !out.special_ && out.item_.is_plain() && !(out.flags_ & reg::TX_AREA_START) &&
                        out.state_ != State::NEXT && out.lined_up_ >= AHEAD && out.remaining_ >= enough;
    if (within) {
        symbols = enough;
    } else {
        out.look_ahead(of_item, of_area);
    }
    std::int64_t most = std::min<std::int64_t>(edges.count, time_of(std::int64_t{symbols} - 1));
    if (lists) {
        // What follows the area must not begin. Before that the rest of its words is fetched, one at two edges at most,
        // and items leave whose places they take; each has a symbol at least, words that follow others have four.
        const auto level = static_cast<std::int64_t>(out.items_.level());
        const std::int64_t words = ((out.address_ & 3) + out.remaining_ + 3) / 4;
        const std::int64_t behind = words - (std::int64_t{AHEAD} - level) - 1;  // of these items, but for that at work
        const std::int64_t lined_up = std::min(behind, level);
        std::int64_t leaving = behind < 0 ? 0 : out.symbols_left() + 4 * (behind - lined_up);
        leaving += lined_up == level ? out.lined_up_ : lined_up;
        most = std::min(most, std::max(2 * (words - 1), behind < 0 ? 0 : time_of(leaving)));
    }
    return static_cast<std::int32_t>(std::max<std::int64_t>(most, 0));
}

}  // namespace nectar::fast
