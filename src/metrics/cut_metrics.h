#pragma once

#include <cstdint>
#include <string>

namespace octet {

/// For a run that goes on from a checkpoint of step `last`: moves what stands behind the last whole line of a step up
/// to `last` from the metrics file `path`, whose steps ascend, to the end of the file `discarded`. These are the lines
/// of later steps, and what a killed start left of a line. `path` then has every logged step once, as if the run had
/// never gone further; the steps are done again, and the discarded lines show what a lost part of a run did. Returns
/// how many lines were moved. A missing file has none. Any thread, of the only process that may write there; memory and
/// time are those of the lines that are moved, however long the file is.
///
/// Throws internal_error, or files::ReadError, when the disk refuses. Where it has no room for the lines to be moved,
/// which stand in both files for a moment, both hold what they held, and nothing more takes room.
///
/// Both files are durable when this returns. What holds wherever the process is killed or the machine loses its power:
/// - A line of a step up to `last` is neither moved nor written again: `path` loses its end and nothing else, in one
///   truncation, once what it loses is durable in `discarded`.
/// - The next call, from the same checkpoint or an earlier one, takes back what an unfinished one has left behind the
///   lines of earlier calls: those that stand in `path` too, and what is between them. Then no line stands in both
///   files, nor twice in `discarded`; at most a piece of a line is left there, which no reader counts.
std::int64_t cut_metrics(const std::string& path, const std::string& discarded, std::int64_t last);

}  // namespace octet
