#pragma once

namespace octet {

/// More than any job needs; programs that close all files up to the limit take their time for it.
inline constexpr unsigned long most_open_files = 1UL << 20;

/// Raises the limit of open files of this process, and of those that it starts, to the most that it may have, or
/// most_open_files: the 1,024 that are the rule are too few for some thousand connections, or for a model of many
/// files. Where the system refuses it stays as it is. Any thread.
void raise_limit_of_open_files();

}  // namespace octet
