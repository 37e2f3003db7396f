#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/evaluate/tasks/item_readers.h"

namespace octet {

/// Which rows stand before a question as examples.
enum class Examples : std::uint8_t {
  first,         ///< the first of the split
  drawn,         ///< Python's Random(1234).sample, anew for each question
  drawn_others,  ///< likewise one more than asked for, of which the question itself is left out
};

/// A task of lm-eval-harness.
struct TaskFormat {
  std::string_view name;
  std::string_view split;     ///< that is evaluated
  std::string_view examples;  ///< the split of the examples
  Examples how = Examples::drawn;
  bool normalised = true;  ///< acc_norm and acc_bytes beside acc
  ReadItem read = nullptr;
};

/// A task that was asked for: one of a table's, or a subject of MMLU.
struct KnownTask {
  std::string name;         ///< "piqa", "mmlu_anatomy"
  std::string folder;       ///< below the folder of data: "piqa", "mmlu/anatomy"
  std::string description;  ///< stands before everything
  TaskFormat format{};
};

/// What is told together: "mmlu" and its four parts. The accuracy is that of all questions.
struct TaskGroup {
  std::string name;
  std::vector<std::string> tasks;
};

struct TaskSelection {
  std::vector<KnownTask> tasks;
  std::vector<TaskGroup> groups{};
};

/// What names stand for, each task once; a subject of MMLU is mmlu_SUBJECT. Usage error for a name that is none, with
/// the nearest.
TaskSelection find_tasks(const std::vector<std::string>& names);

}  // namespace octet
