#include "src/base/options/value.h"

#include <fmt/ranges.h>
#include <yaml-cpp/yaml.h>

#include <limits>

namespace octet {

std::string Place::origin() const {
  return line > 0 ? fmt::format("{}:{}", source, line) : source;
}

int line_of(const YAML::Node& node) {
  const YAML::Mark mark = node.Mark();
  return mark.is_null() ? 0 : mark.line + 1;
}

std::string describe(const YAML::Node& node) {
  constexpr std::size_t longest = 80;
  switch (node.Type()) {
    case YAML::NodeType::Scalar: {
      const std::string& text = node.Scalar();
      return in_quotes(text.size() > longest ? text.substr(0, longest) + "..." : text);
    }
    case YAML::NodeType::Map:
      return "a map";
    case YAML::NodeType::Sequence:
      return "a list";
    default:
      return "nothing";
  }
}

Error wrong_value(const Place& place, const YAML::Node& found, const std::string& expected) {
  return wrong_value(place, describe(found), expected);
}

Error wrong_value(const Place& place, const std::string& found, const std::string& expected) {
  return usage_error("config", "{}: {} = {}: expected {}", place.origin(), place.key, found, expected);
}

namespace {

template <typename T>
class ScalarValue : public Value {
 public:
  explicit ScalarValue(T& field) : field_(field) {}

  std::string type() const override {
    if constexpr (std::is_same_v<T, bool>) return "true | false";
    if constexpr (std::is_same_v<T, double>) return "number";
    return "integer";
  }
  void read(const YAML::Node& node, const Place& place) override {
    const std::string& text = scalar_text(node, place, expected());
    T value{};
    // Quotes say that a string is meant, so "100" is no number; yaml-cpp tags quoted scalars with "!".
    if (!parse(text, value)) throw wrong_value(place, node, expected());
    if (node.Tag() == "!") throw wrong_value(place, node, expected() + ", without quotes");
    field_ = value;
  }
  std::string text() const override { return fmt::format("{}", field_); }
  std::optional<double> number() const override {
    if constexpr (std::is_same_v<T, bool>) return std::nullopt;
    return static_cast<double>(field_);
  }

 private:
  static std::string expected() {
    if constexpr (std::is_same_v<T, bool>) return "true or false";
    if constexpr (std::is_same_v<T, double>) return "a finite number such as 0.1 or 1e-4";
    if constexpr (std::is_unsigned_v<T>) return "a decimal integer from 0 to 2^64 - 1";
    return fmt::format("a decimal integer of at most {} bits", std::numeric_limits<T>::digits);
  }
  T& field_;
};

class NumberListValue : public Value {
 public:
  explicit NumberListValue(std::vector<double>& field) : field_(field) {}
  std::string type() const override { return "list of numbers"; }
  bool is_list() const override { return true; }
  void read(const YAML::Node& node, const Place& place) override {
    std::vector<double> items(node.IsSequence() ? node.size() : 1);
    for (std::size_t i = 0; i < items.size(); ++i) {
      ScalarValue<double> item(items[i]);
      if (node.IsSequence()) {
        item.read(node[i], place.at(line_of(node[i]), fmt::format("{}[{}]", place.key, i)));
      } else {
        item.read(node, place);
      }
    }
    field_ = std::move(items);
  }
  std::string text() const override { return fmt::format("[{}]", fmt::join(field_, ", ")); }

 private:
  std::vector<double>& field_;
};

class StringValue : public Value {
 public:
  explicit StringValue(std::string& field) : field_(field) {}
  std::string type() const override { return "text"; }
  void read(const YAML::Node& node, const Place& place) override {
    field_ = scalar_text(node, place, "text (\"\" for an empty one)");
  }
  std::string text() const override { return yaml_scalar(field_); }

 private:
  std::string& field_;
};

class StringListValue : public Value {
 public:
  explicit StringListValue(std::vector<std::string>& field) : field_(field) {}
  std::string type() const override { return "list of texts"; }
  bool is_list() const override { return true; }
  void read(const YAML::Node& node, const Place& place) override {
    const std::string expected = "a text or a list of texts";
    std::vector<std::string> items;
    if (!node.IsSequence()) items.push_back(scalar_text(node, place, expected));
    for (std::size_t i = 0; node.IsSequence() && i < node.size(); ++i) {
      items.push_back(scalar_text(node[i], place.at(line_of(node[i]), fmt::format("{}[{}]", place.key, i)), "a text"));
    }
    field_ = std::move(items);
  }
  std::string text() const override {
    std::vector<std::string> items;
    for (const std::string& item : field_) items.push_back(yaml_scalar(item));
    return fmt::format("[{}]", joined(items));
  }

 private:
  std::vector<std::string>& field_;
};

}  // namespace

std::unique_ptr<Value> make_value(bool& field) {
  return std::make_unique<ScalarValue<bool>>(field);
}
std::unique_ptr<Value> make_value(std::int32_t& field) {
  return std::make_unique<ScalarValue<std::int32_t>>(field);
}
std::unique_ptr<Value> make_value(std::int64_t& field) {
  return std::make_unique<ScalarValue<std::int64_t>>(field);
}
std::unique_ptr<Value> make_value(std::uint64_t& field) {
  return std::make_unique<ScalarValue<std::uint64_t>>(field);
}
std::unique_ptr<Value> make_value(double& field) {
  return std::make_unique<ScalarValue<double>>(field);
}
std::unique_ptr<Value> make_value(std::string& field) {
  return std::make_unique<StringValue>(field);
}
std::unique_ptr<Value> make_value(std::vector<double>& field) {
  return std::make_unique<NumberListValue>(field);
}
std::unique_ptr<Value> make_value(std::vector<std::string>& field) {
  return std::make_unique<StringListValue>(field);
}

const std::string& scalar_text(const YAML::Node& node, const Place& place, const std::string& expected) {
  if (!node.IsScalar()) throw wrong_value(place, node, expected);
  return node.Scalar();
}

void refuse_choice(const std::string& found, const std::vector<std::string>& choices, const Place& place) {
  throw wrong_value(place, in_quotes(found),
                    fmt::format("one of {}; nearest: {}", joined(choices), nearest(found, choices)));
}

}  // namespace octet
