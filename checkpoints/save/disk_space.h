#pragma once

#include <cstdint>
#include <string>

namespace octet::checkpoint {

/// Bytes that a save leaves free, for the run's logs and metrics. The last one of a run may take them too.
constexpr std::int64_t space_reserve = 64 << 20;

/// Says whether a checkpoint of so many bytes would fit beside `reserve`; also where that cannot be told.
bool has_room(const std::string& root, std::int64_t bytes, std::int64_t reserve);

/// Internal error, as of every disk that is full, when the file system of `root` has no room for a checkpoint of so
/// many bytes, with a hundredth for the files' own structure, beside `reserve`. It names what holds room there and is
/// never removed by a run: checkpoints that were set aside as damaged.
void check_free_space(const std::string& root, std::int64_t bytes, std::int64_t reserve = space_reserve);

/// The warning of a start where `free` bytes under `root` are too few for the checkpoints of `bytes` each that are to
/// come: `keep` that stay, and one more while it is written, less the `there` that will be removed for them. Empty
/// where they are enough; those that checkpoint.keep_every adds with time are not foreseen.
std::string lack_of_space(const std::string& root, std::int64_t free, std::int64_t bytes, std::int64_t keep,
                          std::int64_t there, std::int64_t reserve = space_reserve);

/// Of the checkpoints under `root`, those that may go for newer ones: all but what `keep_every` keeps (0: none).
std::int64_t count_prunable(const std::string& root, std::int64_t keep_every);

/// Logs lack_of_space for checkpoints of `bytes` each, so that a run does not learn at its first save, or at its
/// fourth, that the disk is too small. That it cannot be told is a warning too.
void warn_of_lack_of_space(const std::string& root, std::int64_t bytes, int keep_last, std::int64_t keep_every);

}  // namespace octet::checkpoint
