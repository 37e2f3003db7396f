#pragma once

#include "src/base/options/schema.h"

namespace octet {

/// A list of structs; each element is read by a schema of its own. The parts that do not depend on the struct are here.
class ListValueBase : public Value {
 public:
  std::string type() const override;
  bool is_list() const override { return true; }
  void read(const YAML::Node& node, const Place& place) override;
  std::string text() const override;
  void check(const Place& place) const override;

 protected:
  virtual std::size_t size() const = 0;
  virtual void resize(std::size_t elements) = 0;
  virtual void declare(Schema& schema, std::size_t index) const = 0;
  /// For help: the members of an element that no list holds.
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
