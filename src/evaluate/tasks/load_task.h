#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/evaluate/tasks/known_tasks.h"
#include "src/evaluate/tasks/task_item.h"

namespace octet {

/// The questions of a task, ready to be asked: contexts begin with the description and the examples.
struct LoadedTask {
  std::string name;
  std::int64_t shots = 0;         ///< examples before each question
  bool normalised = true;         ///< acc_norm and acc_bytes beside acc
  std::uint64_t fingerprint = 0;  ///< of the bytes of its files, and of the names of an own one's columns
  std::vector<TaskItem> items{};
  std::int64_t left_out = 0;  ///< questions behind these, which are not asked
};

/// Reads a split of DATA/FOLDER, JSONL or Parquet (dataset_file.h), in the dataset's columns (others may stand beside
/// them; empty lines are passed over), and the split of the examples where `shots` asks for some. Usage error, with
/// file, line, column and what was expected, for a file that is missing or has no row, for a row that is otherwise, and
/// for more examples than there are.
LoadedTask load_task(const KnownTask& task, const std::string& data, std::int64_t shots);

/// A multiple choice task of the user's own, FILE.yaml: name, path (JSONL or Parquet, relative to the YAML file), and
/// the columns context, choices and gold (the right one's number from 0). A choice is appended to its context as it
/// stands. Usage error as above.
LoadedTask load_own_task(const std::string& yaml);

/// Leaves out all questions but the first so many.
void keep_first(LoadedTask& task, std::int64_t questions);

}  // namespace octet
