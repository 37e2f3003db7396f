#include "src/evaluate/tasks/known_tasks.h"

#include <algorithm>
#include <array>

#include "src/base/error.h"
#include "src/base/options/text.h"
#include "src/evaluate/tasks/mmlu_subjects.h"

namespace octet {
namespace {

// drawn_others: lm-eval leaves a question out of its own examples where the split of the examples is the test split
// (fewshot_context of lm_eval/api/task.py). No task here names a split for examples, and the three with drawn_others
// have no test split either: lm-eval takes that for the same split.
constexpr auto formats = std::to_array<TaskFormat>({
    {"arc_challenge", "test", "train", Examples::drawn, true, read_arc},
    {"arc_easy", "test", "train", Examples::drawn, true, read_arc},
    {"hellaswag", "validation", "train", Examples::drawn_others, true, read_hellaswag},
    {"openbookqa", "test", "train", Examples::drawn, true, read_openbookqa},
    {"piqa", "validation", "train", Examples::drawn_others, true, read_piqa},
    {"sciq", "test", "train", Examples::drawn, true, read_sciq},
    {"winogrande", "validation", "train", Examples::drawn_others, false, read_winogrande},
});
constexpr TaskFormat mmlu{"mmlu", "test", "dev", Examples::first, false, read_mmlu};

KnownTask subject_task(std::string_view subject) {
  std::string words(subject);
  std::ranges::replace(words, '_', ' ');
  return {.name = fmt::format("mmlu_{}", subject),
          .folder = fmt::format("mmlu/{}", subject),
          .description = "The following are multiple choice questions (with answers) about " + words + ".\n\n",
          .format = mmlu};
}

void add(KnownTask task, TaskSelection& selection) {
  if (std::ranges::find(selection.tasks, task.name, &KnownTask::name) == selection.tasks.end()) {
    selection.tasks.push_back(std::move(task));
  }
}

void add_part(const MmluPart& part, TaskSelection& selection) {
  TaskGroup group{.name = std::string(part.name), .tasks = {}};
  for (const std::string_view subject : part.subjects) {
    add(subject_task(subject), selection);
    group.tasks.push_back(fmt::format("mmlu_{}", subject));
  }
  if (std::ranges::find(selection.groups, group.name, &TaskGroup::name) == selection.groups.end()) {
    selection.groups.push_back(std::move(group));
  }
}

void add_mmlu(TaskSelection& selection) {
  TaskGroup all{.name = "mmlu", .tasks = {}};
  for (const MmluPart& part : mmlu_parts()) {
    add_part(part, selection);
    for (const std::string_view subject : part.subjects) all.tasks.push_back(fmt::format("mmlu_{}", subject));
  }
  if (std::ranges::find(selection.groups, all.name, &TaskGroup::name) == selection.groups.end()) {
    selection.groups.insert(selection.groups.begin(), std::move(all));
  }
}

bool add_named(const std::string& name, TaskSelection& selection, std::vector<std::string>& known) {
  for (const TaskFormat& format : formats) {
    known.emplace_back(format.name);
    if (name == format.name) return add({name, name, "", format}, selection), true;
  }
  known.emplace_back("mmlu");
  if (name == "mmlu") return add_mmlu(selection), true;
  for (const MmluPart& part : mmlu_parts()) {
    known.emplace_back(part.name);
    if (name == part.name) return add_part(part, selection), true;
    for (const std::string_view subject : part.subjects) {
      known.push_back(fmt::format("mmlu_{}", subject));
      if (name == known.back()) return add(subject_task(subject), selection), true;
    }
  }
  return false;
}

}  // namespace

TaskSelection find_tasks(const std::vector<std::string>& names) {
  TaskSelection selection;
  for (const std::string& name : names) {
    std::vector<std::string> known;
    if (add_named(name, selection, known)) continue;
    std::vector<std::string> told = {"mmlu, mmlu_SUBJECT"};
    for (const TaskFormat& format : formats) told.emplace_back(format.name);
    throw usage_error("evaluate", "--tasks: unknown task \"{}\"; did you mean {}? Expected {}, or a file NAME.yaml",
                      name, nearest(name, known), joined(told));
  }
  return selection;
}

}  // namespace octet
