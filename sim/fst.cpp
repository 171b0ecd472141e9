// VCD to FST, by the writer of another library whose functions are given by address: no headers of it are needed.

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>

#include "nectar_numbers.h"

namespace {

using nectar::FstFunction;

struct Writer {
    void* (*create)(const char* path, int compress_hierarchy);
    void (*close)(void* file);
    void (*timescale)(void* file, const char* text);
    void (*scope)(void* file, int type, const char* name, const char* component);
    void (*upscope)(void* file);
    std::uint32_t (*var)(void* file, int type, int direction, std::uint32_t bits, const char* name,
                         std::uint32_t alias);
    void (*time)(void* file, std::uint64_t time);
    void (*change)(void* file, std::uint32_t handle, const void* bits);
    void (*text)(void* file, std::uint32_t handle, const void* letters, std::uint32_t length);
};

constexpr int SCOPE_MODULE = 0;
constexpr int VAR_WIRE = 16;
constexpr int VAR_STRING = 21;

struct Variable {
    std::uint32_t handle;
    std::size_t bits;
};

// The words of a declaration between `$what` and `$end`.
std::string declaration(std::istream& file) {
    std::string text, word;
    while (file >> word && word != "$end") {
        if (!text.empty()) text += ' ';
        text += word;
    }
    return text;
}

// "wire 8 code name [7:0]"
void declare(const Writer& writer, void* out, const std::string& text,
             std::unordered_map<std::string, Variable>& variables) {
    char type[32], code[32];
    unsigned bits = 0;
    int used = 0;
    if (std::sscanf(text.c_str(), "%31s %u %31s %n", type, &bits, code, &used) < 3) return;
    const auto known = variables.find(code);
    const std::uint32_t alias = known == variables.end() ? 0 : known->second.handle;
    const bool string = std::string_view(type) == "string";
    const char* const name = text.c_str() + used;
    const std::uint32_t handle = string ? writer.var(out, VAR_STRING, 0, 0, name, alias)
                                        : writer.var(out, VAR_WIRE, 0, bits, name, alias);
    if (!alias) variables[code] = {handle, bits};
}

void value(const Writer& writer, void* out, std::string bits, const std::string& code,
           const std::unordered_map<std::string, Variable>& variables) {
    const auto variable = variables.find(code);
    if (variable == variables.end()) return;
    if (bits.size() < variable->second.bits) bits.insert(0, variable->second.bits - bits.size(), '0');
    writer.change(out, variable->second.handle, bits.c_str());
}

// "open\x20P3": a blank is written by its code.
void string(const Writer& writer, void* out, const std::string& escaped, const std::string& code,
            const std::unordered_map<std::string, Variable>& variables) {
    const auto variable = variables.find(code);
    if (variable == variables.end()) return;
    std::string letters;
    for (std::size_t at = 0; at < escaped.size(); ++at) {
        const bool blank = escaped.compare(at, 4, "\\x20") == 0;
        letters += blank ? ' ' : escaped[at];
        at += blank ? 3 : 0;
    }
    writer.text(out, variable->second.handle, letters.data(), static_cast<std::uint32_t>(letters.size()));
}

}  // namespace

// Returns whether both files could be opened and the VCD was read to its end. How many of its bytes were read so far
// stands in `read`, which another thread may look at.
extern "C" __attribute__((visibility("default"))) int nectar_vcd_to_fst(const char* from, const char* to,
                                                                         void* const* functions,
                                                                         volatile std::int64_t* read) {
    Writer writer;
    const auto take = [functions](auto& function, FstFunction which) {
        function = reinterpret_cast<std::decay_t<decltype(function)>>(functions[static_cast<int>(which)]);
    };
    take(writer.create, FstFunction::Create);
    take(writer.close, FstFunction::Close);
    take(writer.timescale, FstFunction::SetTimescaleFromString);
    take(writer.scope, FstFunction::SetScope);
    take(writer.upscope, FstFunction::SetUpscope);
    take(writer.var, FstFunction::CreateVar);
    take(writer.time, FstFunction::EmitTimeChange);
    take(writer.change, FstFunction::EmitValueChange);
    take(writer.text, FstFunction::EmitVariableLengthValueChange);
    std::ifstream in(from);
    void* const out = in ? writer.create(to, 1) : nullptr;
    if (!out) return 0;
    std::unordered_map<std::string, Variable> variables;
    std::string word, code;
    while (in >> word) {
        switch (word[0]) {
            case '$':
                if (word == "$timescale") {
                    writer.timescale(out, declaration(in).c_str());
                } else if (word == "$scope") {
                    const std::string text = declaration(in);
                    writer.scope(out, SCOPE_MODULE, text.c_str() + text.find(' ') + 1, nullptr);
                } else if (word == "$upscope") {
                    declaration(in);
                    writer.upscope(out);
                } else if (word == "$var") {
                    declare(writer, out, declaration(in), variables);
                } else if (word != "$dumpvars" && word != "$end") {
                    declaration(in);
                }
                break;
            case '#':
                writer.time(out, std::stoull(word.substr(1)));
                *read = in.tellg();
                break;
            case 'b':
                in >> code;
                value(writer, out, word.substr(1), code, variables);
                break;
            case 's':
                in >> code;
                string(writer, out, word.substr(1), code, variables);
                break;
            default: value(writer, out, word.substr(0, 1), word.substr(1), variables);
        }
    }
    writer.close(out);
    return in.eof();
}
