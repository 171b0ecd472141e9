#include "captions.h"

#include <cstdio>

#include "engine.h"

namespace nectar {

namespace {

template <std::size_t N>
const char* text_of(const Text (&texts)[N], std::uint32_t number) {
    for (const Text& text : texts) {
        if (text.number == number) return text.text;
    }
    return nullptr;
}

std::string hex(std::uint32_t number, int digits) {
    char text[16];
    std::snprintf(text, sizeof text, "0x%0*X", digits, number);
    return text;
}

const CommandText* command_of(std::uint8_t op) {
    for (const CommandText& text : COMMAND_TEXTS) {
        if (text.op == op) return &text;
    }
    return nullptr;
}

std::string parameter(ParameterKind kind, std::uint8_t value) {
    switch (kind) {
        case ParameterKind::NONE: return "";
        case ParameterKind::PORT: return " P" + std::to_string(value);
        case ParameterKind::PORT_AND_FLAG:
            return " P" + std::to_string(value & ~hub::FORCE) + (value & hub::FORCE ? ", on" : ", off");
        default: return " " + hex(value, 2);
    }
}

std::string at_hub(std::uint8_t id) { return id == hub::ANY_HUB ? "" : " (HUB " + std::to_string(id) + ")"; }

// "open P3, retry (HUB 1)"
std::string command_text(const std::uint8_t* bytes) {
    const CommandText* const text = command_of(bytes[0]);
    if (!text) return "unknown command " + hex(bytes[0], 2) + " " + hex(bytes[2], 2) + at_hub(bytes[1]);
    return text->what + parameter(text->kind, bytes[2]) + text->how + at_hub(bytes[1]);
}

// "done: open, retry 0x03 (HUB 1)", "refused: open: busy (HUB 1)", "hello from 5: 0x83"
std::string reply_text(const std::uint8_t* bytes) {
    if ((bytes[0] & ~hub::REPLY) == hub::HELLO) {
        return "hello from " + std::to_string(bytes[1]) + ": " + hex(bytes[2], 2);
    }
    const bool done = bytes[0] & hub::REPLY;
    const CommandText* const text = command_of(bytes[0] | hub::REPLY);
    const std::string how = text ? text->how : "";
    std::string said = done ? "done: " : "refused: ";
    said += text ? text->what + how.substr(0, how.rfind(", reply")) : hex(bytes[0], 2);
    const char* const error = done ? nullptr : text_of(ERROR_TEXTS, bytes[2]);
    return said + (error ? std::string(": ") + error : " " + hex(bytes[2], 2)) + at_hub(bytes[1]);
}

// "write IRQ_ENABLE 0x00000012", "read data 0x100040"
std::string access_text(const CpuPins& pins) {
    const std::uint32_t address = *pins.address;
    std::string text = *pins.write ? "write " : "read ";
    if (const char* name = text_of(REGISTER_TEXTS, address)) {
        text += name;
    } else {
        for (const RegionText& region : REGION_TEXTS) {
            if (address >= region.base && address < region.end) text += std::string(region.text) + " ";
        }
        text += hex(address, 6);
    }
    return *pins.write ? text + " " + hex(*pins.write_data, 8) : text;
}

}  // namespace

void Frames::take(std::uint16_t symbol) {
    if (!(symbol & CONTROL_BIT)) return take_byte(static_cast<std::uint8_t>(symbol));
    const auto control = static_cast<Control>(symbol);
    if (control == Control::IDLE) return;
    const char* const name = text_of(CONTROL_TEXTS, symbol);
    now = name ? name : "reserved " + hex(symbol, 3);
    if (control == Control::READY) return;
    reply_missing_ = 0;
    if (control == Control::REPLY) {
        reply_missing_ = COMMAND_LENGTH - 1;
    } else if (name) {
        command_missing_ = control == Control::COMMAND ? COMMAND_LENGTH - 1 : 0;
        if (control == Control::START) {
            now = "packet";
            packet_ = true;
            length_ = 0;
        } else if (control == Control::END) {
            now = packet_ ? "packet, " + std::to_string(length_) + " bytes" : "end without packet";
            packet_ = false;
        }
    }
}

void Frames::take_byte(std::uint8_t byte) {
    if (reply_missing_) {
        reply_[COMMAND_LENGTH - 1 - reply_missing_] = byte;
        now = "reply";
        if (!--reply_missing_) command = reply_text(reply_);
    } else if (command_missing_) {
        bytes_[COMMAND_LENGTH - 1 - command_missing_] = byte;
        now = "command";
        if (!--command_missing_) command = command_text(bytes_);
    } else {
        now = packet_ ? "packet" : "byte " + hex(byte, 2);
        ++length_;
    }
}

Captions::Captions(const std::vector<Board*>& boards) {
    for (Board* board : boards) {
        Part part{board, {}, {}};
        if (board->has_cpu) part.bus.code = new_code();
        for (std::size_t i = 0; i < board->wired; ++i) {
            const PortPins& pins = board->ports[i].pins;
            int number = -1;
            for (std::size_t port = 0; !board->has_cpu && port < board->pins.ports.size(); ++port) {
                if (board->pins.ports[port].rx_valid == pins.rx_valid) number = static_cast<int>(port);
            }
            part.fibers.push_back({pins.rx_payload, pins.rx_valid, pins.tx_payload, pins.tx_valid, pins.tx_ready,
                                   number, {{}, {new_code(), ""}, {new_code(), ""}},
                                   {{}, {new_code(), ""}, {new_code(), ""}}});
        }
        parts_.push_back(std::move(part));
    }
}

void Captions::declare(std::string& header) const {
    const auto variable = [](const char* name, const Variable& variable) {
        return "  $var string 1 " + variable.code + " " + name + " $end\n";
    };
    for (const Part& part : parts_) {
        std::string text;
        for (const Fiber& fiber : part.fibers) {
            if (fiber.number >= 0) text += "  $scope module P" + std::to_string(fiber.number) + " $end\n";
            text += variable("rx", fiber.rx.now) + variable("rx_command", fiber.rx.command);
            text += variable("tx", fiber.tx.now) + variable("tx_command", fiber.tx.command);
            if (fiber.number >= 0) text += "  $upscope $end\n";
        }
        if (part.board->has_cpu) text += variable("bus", part.bus);
        const std::string scope = " $scope module " + part.board->name + " $end\n";
        const std::size_t at = header.find("\n" + scope);
        if (at != std::string::npos) header.insert(at + 1 + scope.size(), text);
    }
}

const std::string& Captions::changes(std::int64_t time) {
    changes_.clear();
    if (!begun_) begin();
    for (Part& part : parts_) {
        const Board& board = *part.board;
        if (board.last < 0 || board.group->time_of(board.last) != time) continue;
        for (Fiber& fiber : part.fibers) {
            if (*fiber.rx_valid) take(fiber.rx, *fiber.rx_payload, time);
            if (*fiber.tx_valid & *fiber.tx_ready) take(fiber.tx, *fiber.tx_payload, time);
        }
        if (board.has_cpu) look_at_bus(part);
    }
    return changes_;
}

// All variables are empty at first.
void Captions::begin() {
    begun_ = true;
    for (Part& part : parts_) {
        for (Fiber& fiber : part.fibers) {
            for (Variable* variable : {&fiber.rx.now, &fiber.rx.command, &fiber.tx.now, &fiber.tx.command}) {
                write(*variable);
            }
        }
        if (part.board->has_cpu) write(part.bus);
    }
}

void Captions::take(Direction& direction, std::uint16_t symbol, std::int64_t time) {
    if (first_ps_ < 0) first_ps_ = time;
    direction.frames.take(symbol);
    change(direction.now, direction.frames.now);
    change(direction.command, direction.frames.command);
}

// An access is told from the cycle in which the board takes it.
void Captions::look_at_bus(Part& part) {
    const CpuPins& pins = part.board->pins.cpu;
    if (*pins.valid & *pins.ready) change(part.bus, access_text(pins));
}

void Captions::change(Variable& variable, const std::string& text) {
    if (variable.text == text) return;
    variable.text = text;
    write(variable);
}

void Captions::write(const Variable& variable) {
    changes_ += 's';
    for (const char letter : variable.text) {
        if (letter == ' ') {
            changes_ += "\\x20";
        } else {
            changes_ += letter;
        }
    }
    changes_ += " " + variable.code + "\n";
}

}  // namespace nectar
