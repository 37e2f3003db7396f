#pragma once

#include "src/base/json_reader.h"
#include "src/evaluate/tasks/task_item.h"

namespace octet {

/// Makes a question of a row in the dataset's own columns, word for word as lm-eval-harness does (0.4.13, version 1.0
/// of each task). Usage error with file, line and column for a row that is otherwise.
using ReadItem = TaskItem (*)(const JsonReader& row);

TaskItem read_arc(const JsonReader& row);         ///< question, choices {text, label}, answerKey
TaskItem read_hellaswag(const JsonReader& row);   ///< activity_label, ctx_a, ctx_b, endings, label
TaskItem read_mmlu(const JsonReader& row);        ///< question, choices (4), answer (0 to 3)
TaskItem read_openbookqa(const JsonReader& row);  ///< question_stem, choices {text, label}, answerKey
TaskItem read_piqa(const JsonReader& row);        ///< goal, sol1, sol2, label
TaskItem read_sciq(const JsonReader& row);        ///< support, question, distractor1 to 3, correct_answer
TaskItem read_winogrande(const JsonReader& row);  ///< sentence with "_", option1, option2, answer ("1", "2")

}  // namespace octet
