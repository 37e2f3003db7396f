#pragma once

#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/named_enum.h"
#include "src/base/options/option.h"

namespace octet {

/// The place of each option that was set: "optimizer.lr" -> "configs/runs/a.yaml:12" or "command line".
using Origins = std::map<std::string, std::string>;

/// The declaration of every option of a configuration, bound to the fields of plain structs that outlive it. Reading
/// (yaml.h), the command line (arguments.h), help and the reference page (document.h) all work from it.
///
///     Schema schema;
///     schema.section("optimizer", "AdamW.");
///     schema.add("lr", config.optimizer.lr).above(0).help("Peak learning rate.");
class Schema {
 public:
  struct Section {
    std::string name, help;
  };

  Schema() = default;
  Schema(const Schema&) = delete;
  Schema& operator=(const Schema&) = delete;

  /// Options added from here on belong to this section. Before the first call they stand at the top of the file.
  void section(std::string name, std::string help);

  /// T: bool, std::int32_t, std::int64_t, std::uint64_t, double, std::string, or a list of strings or of doubles.
  template <typename T>
  Option& add(const std::string& key, T& field) {
    return insert(key, make_value(field));
  }
  /// An option of a command line that is a word without a value: --json.
  Option& add_flag(const std::string& key, bool& field) { return add(key, field).flag(); }
  /// One of the names of an enum (named_enum.h).
  template <NamedEnum E>
  Option& add_choice(const std::string& key, E& field) {
    std::vector<std::pair<std::string, E>> choices;
    for (const std::string_view name : names_of(E{})) choices.emplace_back(name, *value_named<E>(name));
    return add_choice(key, field, std::move(choices));
  }
  /// One name of a fixed list that stands for a value: for some of an enum's names, or for an enum without.
  template <typename T>
  Option& add_choice(const std::string& key, T& field, std::vector<std::pair<std::string, T>> choices) {
    return insert(key, std::make_unique<ChoiceValue<T>>(field, std::move(choices)));
  }
  /// One name of a fixed list, kept as a string.
  Option& add_choice(const std::string& key, std::string& field, const std::vector<std::string>& choices);
  /// A list of structs. `declare` adds the members of one element to a schema; an element that is a scalar sets the
  /// first member alone, and a single element needs no list.
  template <typename T>
  Option& add_list(const std::string& key, std::vector<T>& field, std::function<void(Schema&, T&)> declare);

  const std::vector<Section>& sections() const { return sections_; }
  const std::deque<Option>& options() const { return options_; }
  bool has_section(const std::string& name) const;
  /// The option with that full name, "section.key"; null where there is none.
  Option* find(const std::string& name);
  const Option* find(const std::string& name) const;
  /// The present name of the option that was once called `name` (Option::was); `name` itself where there is none.
  std::string current_name(const std::string& name) const;
  /// Full names in the order of declaration.
  std::vector<std::string> names() const;

  Origins origins() const;
  /// Throws where a required option is not set; `source` names the file.
  void check_required(const std::string& source, bool on_command_line) const;
  /// Appends a line for each required option that is not set: "c.yaml:7: nodes.memory_gib (integer): Memory of a node."
  void add_missing(const std::string& source, const std::string& prefix, std::vector<std::string>& lines) const;
  /// Throws where a field is out of its option's range, as after a change in memory.
  void check(const Origins& origins) const;

 private:
  Option& insert(std::string key, std::unique_ptr<Value> value);

  std::vector<Section> sections_ = {{"", ""}};
  std::deque<Option> options_;  // a deque keeps references valid while it grows
};

/// A list of structs; each element is read by a schema of its own. The parts that do not depend on the struct are here.
class ListValueBase : public Value {
 public:
  std::string type() const override;
  bool is_list() const override { return true; }
  void read(const YAML::Node& node, const Place& place) override;
  std::string text() const override;
  void check(const Place& place) const override;
  void declare_members(Schema& members) const override { declare_example(members); }

 protected:
  virtual std::size_t size() const = 0;
  virtual void resize(std::size_t elements) = 0;
  virtual void declare(Schema& schema, std::size_t index) const = 0;
  /// Declares, for the help text, the members of an element that no list holds.
  virtual void declare_example(Schema& schema) const = 0;
};

template <typename T>
class ListValue : public ListValueBase {
 public:
  ListValue(std::vector<T>& field, std::function<void(Schema&, T&)> declare)
      : field_(field), declare_(std::move(declare)) {}

 private:
  std::size_t size() const override { return field_.size(); }
  void resize(std::size_t elements) override { field_.assign(elements, T{}); }
  void declare(Schema& schema, std::size_t index) const override { declare_(schema, field_[index]); }
  void declare_example(Schema& schema) const override { declare_(schema, example_); }

  std::vector<T>& field_;
  mutable T example_{};
  std::function<void(Schema&, T&)> declare_;
};

template <typename T>
Option& Schema::add_list(const std::string& key, std::vector<T>& field, std::function<void(Schema&, T&)> declare) {
  return insert(key, std::make_unique<ListValue<T>>(field, std::move(declare)));
}

}  // namespace octet
