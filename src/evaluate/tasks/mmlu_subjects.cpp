#include "src/evaluate/tasks/mmlu_subjects.h"

#include <array>

namespace octet {
namespace {

constexpr auto stem = std::to_array<std::string_view>(
    {"abstract_algebra", "anatomy", "astronomy", "college_biology", "college_chemistry", "college_computer_science",
     "college_mathematics", "college_physics", "computer_security", "conceptual_physics", "electrical_engineering",
     "elementary_mathematics", "high_school_biology", "high_school_chemistry", "high_school_computer_science",
     "high_school_mathematics", "high_school_physics", "high_school_statistics", "machine_learning"});
constexpr auto other =
    std::to_array<std::string_view>({"business_ethics", "clinical_knowledge", "college_medicine", "global_facts",
                                     "human_aging", "management", "marketing", "medical_genetics", "miscellaneous",
                                     "nutrition", "professional_accounting", "professional_medicine", "virology"});
constexpr auto social_sciences = std::to_array<std::string_view>(
    {"econometrics", "high_school_geography", "high_school_government_and_politics", "high_school_macroeconomics",
     "high_school_microeconomics", "high_school_psychology", "human_sexuality", "professional_psychology",
     "public_relations", "security_studies", "sociology", "us_foreign_policy"});
constexpr auto humanities = std::to_array<std::string_view>(
    {"formal_logic", "high_school_european_history", "high_school_us_history", "high_school_world_history",
     "international_law", "jurisprudence", "logical_fallacies", "moral_disputes", "moral_scenarios", "philosophy",
     "prehistory", "professional_law", "world_religions"});
constexpr auto parts = std::to_array<MmluPart>({{"mmlu_stem", stem},
                                                {"mmlu_other", other},
                                                {"mmlu_social_sciences", social_sciences},
                                                {"mmlu_humanities", humanities}});

}  // namespace

std::span<const MmluPart> mmlu_parts() {
  return parts;
}

}  // namespace octet
