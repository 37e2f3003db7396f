#pragma once

#include <exception>
#include <functional>
#include <string>
#include <string_view>

namespace octet {

/// The text to print for an exception: its own words, and, where the system gave no thread, also which limits may be
/// the cause.
std::string reason_of(const std::exception& error);

/// The main function of a program that has no MPI yet: `main`, and where that throws, one message of `program` and the
/// exit code of the error (70 unless it is an Error).
int end_with_reason(std::string_view program, const std::function<int()>& main);

}  // namespace octet
