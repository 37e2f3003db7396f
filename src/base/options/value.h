#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "src/base/error.h"
#include "src/base/options/text.h"

namespace YAML {
class Node;
}

namespace octet {

/// The place where a value stands, for messages: "configs/runs/a.yaml:4: train.steps".
struct Place {
  std::string source;  ///< a file, or "command line"
  int line = 0;        ///< from 1; 0: no lines
  std::string key;     ///< "section.key"
  /// Where required members of a list's elements that are not there are noted, a line each; null: they are errors.
  std::vector<std::string>* missing = nullptr;

  /// "configs/runs/a.yaml:4" or "command line".
  std::string origin() const;
  Place at(int other_line, std::string other_key) const { return {source, other_line, std::move(other_key), missing}; }
};

/// Line of a node, from 1; 0 where the node was not read from text.
int line_of(const YAML::Node& node);

/// The node as a short text on one line for messages: `"1.5"`, `a map`, `a list`, `nothing`.
std::string describe(const YAML::Node& node);

/// Usage error "[config] a.yaml:4: train.steps = "1.5": expected an integer".
Error wrong_value(const Place& place, const YAML::Node& found, const std::string& expected);
Error wrong_value(const Place& place, const std::string& found, const std::string& expected);

class Schema;

/// The typed value behind one option, bound to a field that outlives it. To add a type of option, derive from this.
class Value {
 public:
  virtual ~Value() = default;

  /// What a reader may write, for help and messages: "integer", "true or false", "wsd, cosine".
  virtual std::string type() const = 0;
  /// Sets the field. Throws a usage error that names `place` where the node is not of this type.
  virtual void read(const YAML::Node& node, const Place& place) = 0;
  /// Current value in YAML's flow style, which `read` takes back to the same value.
  virtual std::string text() const = 0;
  /// Says whether `[...]` on the command line is a list rather than text.
  virtual bool is_list() const { return false; }
  /// Declares, for documents, the members of an element of a list of structs.
  virtual void declare_members(Schema&) const {}
  /// Current value for range checks; nothing for types without an order.
  virtual std::optional<double> number() const { return std::nullopt; }
  /// Throws where the current value, perhaps set in memory, is one that `read` would refuse.
  virtual void check(const Place&) const {}
};

std::unique_ptr<Value> make_value(bool& field);
std::unique_ptr<Value> make_value(std::int32_t& field);
std::unique_ptr<Value> make_value(std::int64_t& field);
std::unique_ptr<Value> make_value(std::uint64_t& field);
std::unique_ptr<Value> make_value(double& field);
std::unique_ptr<Value> make_value(std::string& field);
/// One string or a list of strings.
std::unique_ptr<Value> make_value(std::vector<std::string>& field);
/// One number or a list of numbers.
std::unique_ptr<Value> make_value(std::vector<double>& field);

/// The text of a scalar node; throws where the node is a map, a list or nothing.
const std::string& scalar_text(const YAML::Node& node, const Place& place, const std::string& expected);
/// Throws the error for a name that is none of the choices, with the nearest one.
[[noreturn]] void refuse_choice(const std::string& found, const std::vector<std::string>& choices, const Place& place);

/// One of a fixed list of names, each of which stands for a value of T (an enum, or the name itself).
template <typename T>
class ChoiceValue : public Value {
 public:
  ChoiceValue(T& field, std::vector<std::pair<std::string, T>> choices) : field_(field), choices_(std::move(choices)) {}

  std::string type() const override { return joined(names(), " | "); }
  void read(const YAML::Node& node, const Place& place) override {
    const std::string& found = scalar_text(node, place, "one of " + type());
    const auto choice = std::ranges::find(choices_, found, &std::pair<std::string, T>::first);
    if (choice == choices_.end()) refuse_choice(found, names(), place);
    field_ = choice->second;
  }
  std::string text() const override {
    const auto choice = this_choice();
    return choice == choices_.end() ? "?" : choice->first;
  }
  void check(const Place& place) const override {
    if (this_choice() != choices_.end()) return;
    if constexpr (std::is_same_v<T, std::string>) refuse_choice(field_, names(), place);
    refuse_choice("?", names(), place);
  }

 private:
  auto this_choice() const { return std::ranges::find(choices_, field_, &std::pair<std::string, T>::second); }

  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const auto& choice : choices_) out.push_back(choice.first);
    return out;
  }

  T& field_;
  std::vector<std::pair<std::string, T>> choices_;
};

}  // namespace octet
