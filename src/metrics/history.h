#pragma once

#include <cstdint>
#include <string>

namespace octet {

/// Lines of a metrics file before and after a cut.
struct MetricsCut {
  std::int64_t kept = 0;
  std::int64_t discarded = 0;
};

/// Moves, for a run that goes on from a checkpoint of step `last`, the lines of later steps, and a last line that was
/// cut off, to the end of the file `discarded`, so that `path` has every logged step once, as if the run had never gone
/// further. Steps are then repeated with the same numbers; the discarded lines show what a lost part of a run did. Both
/// files are durable when this returns, and `path` is replaced by one rename. A missing file has no lines. Throws
/// internal_error when the disk refuses.
MetricsCut cut_metrics(const std::string& path, const std::string& discarded, std::int64_t last);

}  // namespace octet
