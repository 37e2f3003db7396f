#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/tuning/explain/explanation.h"

namespace octet::tune {

struct Answer {
  Question question;
  std::string machine_source;            ///< "cluster NAME", for readers
  std::string tuning_source;             ///< "FILE, of cluster NAME (roce), NCCL 2.28.9"; empty without
  std::vector<std::string> assumptions;  ///< what the figures take for granted here
  Explanation explanation;
  std::optional<Health> health;
};

void print_text(const Answer& answer);
/// One JSON object on one line.
void print_json(const Answer& answer);

}  // namespace octet::tune
