#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/tuning/fit/benchmark_run.h"

namespace octet {

/// The line without what launchers put before it: `3: ` of srun --label, `[1,0]<stdout>:` of mpirun --tag-output.
std::string_view without_label(std::string_view line);

/// Whether most lines have a word before them, `node-0: ` of pdsh and clush or `[pod/NAME/CONTAINER] ` of kubectl.
/// A single line that begins so may be a program's own.
bool has_word_labels(std::string_view text);
/// The line without that word; as it is where it has none.
std::string_view without_word_label(std::string_view line);

std::vector<std::string_view> words(std::string_view line);

/// The places of the columns of nccl-tests' table, from its line of column names: `size count type redop root time
/// algbw busbw #wrong time algbw busbw #wrong`, without redop and root in old versions, with i_min and others after
/// each block where iterations are timed one by one, and a timestamp of two words at the end.
class TextTable {
 public:
  /// Usage error where it is no such line, or its times are those of the CPU.
  TextTable(std::string_view names, std::string_view where);

  struct Cells {
    PrintedRow row;
    std::string wrong;  ///< "0", "N/A", or of old versions the largest error
    bool in_place = false;
  };
  struct Line {
    std::string type;
    std::vector<Cells> cells;  ///< out of place, in place
  };
  /// Usage error where it has not the table's columns.
  Line parse(std::string_view line, std::string_view where) const;

  /// Says whether a result of `wrong` in a row of this type is wrong. Old versions print the largest difference, for
  /// which they allow as much as here (nccl-tests v2.9.0, src/common.cu, deltaMaxValue).
  bool is_wrong(const std::string& wrong, std::string_view type, std::string_view where) const;

  /// Says whether the line is the one with the names.
  static bool has_names(std::string_view line);

 private:
  std::vector<std::size_t> times_;  ///< column of each block's time
  std::size_t columns_ = 0;         ///< words of a row
  bool differences_ = false;        ///< the column is `error`, not `#wrong`
};

}  // namespace octet
