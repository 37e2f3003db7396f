#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "src/base/options/value.h"

namespace octet {

class Schema;

/// One declared option: its name, its value, and what help and checks say about it. The setters return the option, so
/// that a declaration is one expression.
class Option {
 public:
  /// `section` is empty for options at the top of the file. The default is the field's value now.
  Option(std::string section, std::string key, std::unique_ptr<Value> value);

  Option& help(std::string text) { return set(help_, std::move(text)); }
  Option& unit(std::string text) { return set(unit_, std::move(text)); }
  /// Bounds of a number (each element's own schema has the bounds of lists).
  Option& at_least(double bound) { return set(low_, {bound, false}); }
  Option& above(double bound) { return set(low_, {bound, true}); }
  Option& at_most(double bound) { return set(high_, {bound, false}); }
  Option& below(double bound) { return set(high_, {bound, true}); }
  Option& between(double low, double high) { return at_least(low).at_most(high); }
  /// The option has no default: the file or the command line must give it.
  Option& required() { return set(required_, true); }
  /// The key that this option had in an earlier version, in the same section, and pairs of a value of that time and
  /// what it is called now. Files and command lines may still use the former key; a warning then names the new one.
  Option& was(std::string key, std::vector<std::pair<std::string, std::string>> values);
  /// On the command line the option has a letter too: -o for --output.
  Option& letter(char letter) { return set(letter_, letter); }
  /// The command line may give a list of texts word by word, and more than once: --input a b --input c.
  Option& several() { return set(several_, true); }
  /// On the command line the name alone says true. Schema::add_flag declares such an option.
  Option& flag() { return set(flag_, true); }

  const std::string& section() const { return section_; }
  const std::string& key() const { return key_; }
  /// "section.key", or "key" at the top.
  std::string name() const { return section_.empty() ? key_ : section_ + "." + key_; }
  const std::string& help_text() const { return help_; }
  const std::string& unit_text() const { return unit_; }
  const std::string& default_text() const { return default_; }
  bool is_required() const { return required_; }
  /// Says whether the default is a value that one could give. An empty text and a number out of range stand for what
  /// holds where the option is not given, and its help says what that is.
  bool has_default() const;
  char letter() const { return letter_; }  ///< 0: none
  bool is_several() const { return several_; }
  bool is_flag() const { return flag_; }
  /// As name(), of the former key; empty: there is none.
  std::string former_name() const;
  std::string type() const { return value_->type(); }
  bool is_list() const { return value_->is_list(); }
  /// Declares what an element of a list of structs has; nothing for other types.
  void declare_members(Schema& members) const { value_->declare_members(members); }
  std::string text() const { return value_->text(); }
  /// ">= 0, < 1", or an empty string.
  std::string range() const;
  /// Says whether a file or the command line has set the option; origin() says where: "a.yaml:4".
  bool is_set() const { return !origin_.empty(); }
  const std::string& origin() const { return origin_; }

  /// Sets the field; throws a usage error that names the place, the value and what was expected.
  void read(const YAML::Node& node, const Place& place);
  /// Sets the field from a value that was given under the former key; `tells`: warns of the new name (rank 0).
  void read_former(const YAML::Node& node, const Place& place, bool tells);
  /// Throws the same error where the field's current value is out of range or not a choice. NaN is out of any range.
  void check(const Place& place) const;

 private:
  struct Bound {
    double at;
    bool open;
  };

  template <typename T>
  Option& set(T& field, std::type_identity_t<T> value) {
    field = std::move(value);
    return *this;
  }

  bool in_range(double number) const {
    return (low_.open ? number > low_.at : number >= low_.at) && (high_.open ? number < high_.at : number <= high_.at);
  }

  std::string section_, key_, help_, unit_, default_, origin_;
  std::unique_ptr<Value> value_;
  std::optional<double> default_number_;
  std::string former_key_;
  std::vector<std::pair<std::string, std::string>> former_values_;  ///< and what they are now
  Bound low_{-std::numeric_limits<double>::infinity(), true};       ///< open at infinity: finite numbers only
  Bound high_{std::numeric_limits<double>::infinity(), true};
  bool required_ = false, several_ = false, flag_ = false;
  char letter_ = 0;
};

}  // namespace octet
