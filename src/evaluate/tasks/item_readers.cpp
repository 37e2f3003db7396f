#include "src/evaluate/tasks/item_readers.h"

#include <algorithm>
#include <utility>

#include "src/base/options/text.h"
#include "src/evaluate/tasks/hellaswag_text.h"
#include "src/evaluate/tasks/python_text.h"

namespace octet {
namespace {

/// One context, and behind it a blank and a choice.
TaskItem question(std::string context, std::vector<std::string> choices, std::size_t gold) {
  TaskItem item;
  for (const std::string& choice : choices) item.continuations.push_back(" " + choice);
  item.example = context + " " + choices[gold] + "\n\n";
  item.contexts = {std::move(context)};
  item.choices = std::move(choices);
  item.gold = gold;
  return item;
}

std::string text_without_blanks(const JsonReader& value) {
  return std::string(left_stripped(value.text()));
}

/// choices.text and the place of a label in choices.label.
TaskItem labelled(const JsonReader& row, std::string context, const std::string& answer) {
  const JsonReader choices = row.at("choices");
  std::vector<std::string> texts = choices.at("text").texts();
  const std::vector<std::string> labels = choices.at("label").texts();
  if (texts.empty()) throw choices.at("text").refuse("texts");
  if (labels.size() != texts.size())
    throw choices.at("label").refuse(fmt::format("a label for each of {} texts", texts.size()));
  const auto found = std::ranges::find(labels, answer);
  if (found == labels.end()) throw row.at("answerKey").refuse("one of choices.label: " + joined(labels));
  return question(std::move(context), std::move(texts), static_cast<std::size_t>(found - labels.begin()));
}

/// A label that is a number, or a text that is one.
std::size_t index_of(const JsonReader& value, std::size_t count) {
  std::int64_t index = -1;
  if (!value.is_text()) {
    index = value.integer(std::int64_t{0}, static_cast<std::int64_t>(count) - 1);
  } else if (!parse(value.text(), index) || index < 0 || index >= static_cast<std::int64_t>(count)) {
    throw value.refuse(fmt::format("an integer of 0 to {}, or such a text", count - 1));
  }
  return static_cast<std::size_t>(index);
}

}  // namespace

TaskItem read_arc(const JsonReader& row) {
  return labelled(row, "Question: " + row.text("question") + "\nAnswer:", row.text("answerKey"));
}

TaskItem read_hellaswag(const JsonReader& row) {
  const auto behind = capitalized(row.text("ctx_b"));
  if (!behind)
    throw row.at("ctx_b").refuse("no capital sigma behind its first letter, whose small form depends on its place");
  std::vector<std::string> endings = row.at("endings").texts();
  if (endings.empty()) throw row.at("endings").refuse("texts");
  const std::size_t gold = index_of(row.at("label"), endings.size());
  for (std::string& ending : endings) ending = clean_hellaswag(ending);
  const std::string context = row.text("activity_label") + ": " + row.text("ctx_a") + " " + *behind;
  return question(clean_hellaswag(context), std::move(endings), gold);
}

TaskItem read_mmlu(const JsonReader& row) {
  constexpr int count = 4;
  const std::vector<std::string> letters = {"A", "B", "C", "D"};
  const std::string asked = row.text("question");
  std::string context(stripped(asked));
  const std::vector<JsonReader> choices = row.at("choices").elements(count);
  for (std::size_t i = 0; i < letters.size(); ++i) context += "\n" + letters[i] + ". " + choices[i].text();
  return question(context + "\nAnswer:", letters, static_cast<std::size_t>(row.integer("answer", 0, count - 1)));
}

TaskItem read_openbookqa(const JsonReader& row) {
  return labelled(row, row.text("question_stem"), text_without_blanks(row.at("answerKey")));
}

TaskItem read_piqa(const JsonReader& row) {
  return question("Question: " + row.text("goal") + "\nAnswer:", {row.text("sol1"), row.text("sol2")},
                  static_cast<std::size_t>(row.integer("label", 0, 1)));
}

TaskItem read_sciq(const JsonReader& row) {
  std::vector<std::string> choices;
  for (const char* column : {"distractor1", "distractor2", "distractor3", "correct_answer"}) {
    choices.push_back(row.text(column));
  }
  return question(text_without_blanks(row.at("support")) + "\nQuestion: " + row.text("question") + "\nAnswer:",
                  std::move(choices), 3);
}

TaskItem read_winogrande(const JsonReader& row) {
  const std::string sentence = row.text("sentence");
  const std::size_t blank = sentence.find('_');
  if (blank == std::string::npos) throw row.at("sentence").refuse("a sentence with \"_\" for what is left out");
  const std::string answer = row.text("answer");
  if (answer != "1" && answer != "2") throw row.at("answer").refuse("\"1\" or \"2\"");
  TaskItem item;
  for (const char* option : {"option1", "option2"})
    item.contexts.push_back(sentence.substr(0, blank) + row.text(option));
  item.gold = answer == "1" ? 0 : 1;
  item.choices = item.contexts;
  const std::string rest(stripped(std::string_view(sentence).substr(blank + 1)));
  item.continuations = {" " + rest};
  item.example = item.contexts[item.gold] + (rest.empty() ? "" : " " + rest + "\n\n");
  return item;
}

}  // namespace octet
