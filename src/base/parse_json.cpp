#include <algorithm>

#include "src/base/json_reader.h"
#include "src/base/lfs_pointer.h"
#include "src/base/printable.h"

namespace octet {
namespace {

// What the library does with a value (prints, copies, compares it) recurses: one that is nested without bounds would
// overflow the stack.
constexpr std::size_t deepest = 32;
constexpr std::size_t most_of_a_reason = 300;

/// Builds the value of a text from what the library's parser tells it. The callback that its own builder offers looks
/// through all members of the parent at the end of each object.
class Builder {
 public:
  Builder(std::string_view room, const std::string& file) : room_(room), file_(file) {}

  bool null() { return add(nullptr); }
  bool boolean(bool value) { return add(value); }
  bool number_integer(std::int64_t value) { return add(value); }
  bool number_unsigned(std::uint64_t value) { return add(value); }
  bool number_float(double value, const std::string&) { return add(value); }
  bool string(std::string& value) { return add(std::move(value)); }
  bool binary(nlohmann::json::binary_t& value) { return add(std::move(value)); }
  bool start_object(std::size_t) { return open(nlohmann::json::object()); }
  bool start_array(std::size_t) { return open(nlohmann::json::array()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(const std::string& name) {
    const auto [member, is_new] = open_.back()->get_ref<nlohmann::json::object_t&>().try_emplace(name);
    if (!is_new) {
      throw usage_error(room_, "{}: the key {} stands twice in one object; expected once", file_,
                        JsonReader(nlohmann::json(name), room_, file_).shown());
    }
    member_ = &member->second;
    return true;
  }
  bool parse_error(std::size_t byte, const std::string&, const nlohmann::json::exception& error) {
    byte_ = byte;
    reason_ = error.what();
    return false;
  }

  nlohmann::json& value() { return value_; }
  std::size_t byte() const { return byte_; }
  const std::string& reason() const { return reason_; }

 private:
  nlohmann::json* put(nlohmann::json value) {
    nlohmann::json* place = open_.empty() ? &value_ : member_;
    if (!open_.empty() && open_.back()->is_array()) place = &open_.back()->emplace_back();
    *place = std::move(value);
    return place;
  }
  bool add(nlohmann::json value) {
    put(std::move(value));
    return true;
  }
  bool open(nlohmann::json value) {
    if (open_.size() == deepest) {
      throw usage_error(room_, "{}: nested deeper than {}; expected less", file_, deepest);
    }
    open_.push_back(put(std::move(value)));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  std::string_view room_;
  const std::string& file_;
  nlohmann::json value_;
  std::vector<nlohmann::json*> open_;  ///< lists and objects around what comes next, the innermost last
  nlohmann::json* member_ = nullptr;   ///< the value of the key that came last
  std::size_t byte_ = 0;               ///< where the text breaks off
  std::string reason_;
};

}  // namespace

nlohmann::json parse_json(std::string_view text, std::string_view room, const std::string& file,
                          std::string_view expected) {
  Builder builder(room, file);
  if (nlohmann::json::sax_parse(text, &builder)) return std::move(builder.value());
  refuse_lfs_pointer(text, room, file);
  const std::string_view before = text.substr(0, std::min(builder.byte(), text.size()));
  const std::string line = fmt::format(":{}", 1 + std::ranges::count(before, '\n'));
  throw usage_error(room, "{}{}: no valid JSON; expected {}: {}", file, text.find('\n') < text.size() - 1 ? line : "",
                    expected, cut_off(builder.reason(), most_of_a_reason));
}

}  // namespace octet
