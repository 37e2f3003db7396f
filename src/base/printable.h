#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace octet {

// Texts of others in what a person reads: names of files, reasons, tokens. A terminal obeys control characters, and a
// line break in a name makes a second line of a log.

/// A text of several lines. Control characters other than line breaks and tabs are spelled out: those below U+0020 as
/// \x1b, and U+007F to U+009F, which JSON may hold unescaped, as \u009b, so that JSON stays JSON. A byte from 80 to 9F
/// (hexadecimal) that belongs to no UTF-8 character is spelled \x9b; all else stays.
std::string printable(std::string_view text);

/// A text as a person can read it on one line: line breaks and tabs are spelled \n and \t too, and all bytes that are
/// no UTF-8.
std::string readable(std::string_view text);

/// printable() where standard output is a terminal; else the text as it is.
std::string printable_on_terminal(std::string_view text);

/// The first `most` bytes with "..." behind them where there are more; no character is cut.
std::string cut_off(std::string text, std::size_t most);

}  // namespace octet
