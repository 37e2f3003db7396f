#pragma once

#include <optional>
#include <string>

#include "src/tuning/explain/explanation.h"

namespace octet::tune {

struct Answer {
  Question question;
  std::string machine_source;  ///< "cluster NAME", for readers
  Explanation explanation;
  std::optional<Health> health;
};

void print_text(const Answer& answer);
/// One JSON object on one line.
void print_json(const Answer& answer);

}  // namespace octet::tune
