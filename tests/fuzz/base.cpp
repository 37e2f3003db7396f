// YAML without a schema of a run, JSON.
#include "src/base/json_reader.h"
#include "src/base/options/yaml.h"
#include "tests/fuzz/fuzz.h"

namespace octet::fuzz {
namespace {

/// Options of every type that a schema has.
void read_options(const std::string& text) {
  struct Row {
    std::string name;
    std::int64_t count = 0;
  };
  std::int64_t integer = 0;
  double number = 0;
  bool flag = false;
  std::string choice = "a", word;
  std::vector<std::string> words;
  std::vector<Row> rows;
  Schema schema;
  schema.section("s", "All types.");
  schema.add("integer", integer).above(0).help("An integer.");
  schema.add("number", number).help("A number.");
  schema.add("flag", flag).help("A flag.");
  schema.add("word", word).help("A word.");
  schema.add("words", words).help("Words.");
  schema.add_choice("choice", choice, {"a", "b"}).help("A choice.");
  schema.add_list<Row>("rows", rows, [](Schema& s, Row& row) {
    s.add("name", row.name).help("A name.");
    s.add("count", row.count).help("A count.");
  });
  read_yaml_text(schema, text, "input.yaml");
}

}  // namespace

const std::vector<Reader>& readers() {
  static const std::vector<Reader> all = {
      {"flat-yaml", [](const std::string& text) { flat_yaml(text, "input.yaml"); },
       files({"configs/runs/english-5m.yaml", "configs/clusters/local.yaml", "configs/known-bad.yaml"})},
      {"options", read_options,
       texts({"s:\n  integer: 1\n  number: 1e-3\n  flag: true\n  word: \"a b\"\n  words: [a, 'b', c]\n  choice: b\n"
              "  rows:\n    - {name: x, count: 2}\n    - name: y # a comment\n      count: 3\n"})},
      {"json", [](const std::string& text) { JsonReader(parse_json(text, "base", "input.json", "JSON"), "base", "f"); },
       files({"configs/tuning/aws-p5-efa.json"})},
  };
  return all;
}

}  // namespace octet::fuzz
