#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace octet {

/// The tokens of a vocabulary: bytes by id, and ids by bytes.
class TokenTable {
 public:
  /// Gives bytes an id, unless that has some already, or the bytes have an id: then returns false and changes nothing.
  bool add(std::int32_t id, std::string_view bytes);
  /// A token that no text of a vocabulary is looked up as, such as a special one.
  bool add_named(std::int32_t id, std::string_view bytes);

  /// Ids are in [0, size); some of them may have no token.
  std::int32_t size() const { return static_cast<std::int32_t>(places_.size()); }
  bool has(std::int32_t id) const { return id >= 0 && id < size() && places_[static_cast<std::size_t>(id)].there; }
  std::string_view bytes(std::int32_t id) const;
  std::optional<std::int32_t> find(std::string_view bytes) const;

 private:
  struct Place {
    std::size_t begin = 0;
    std::uint32_t length = 0;
    bool there = false;
  };

  std::size_t slot_of(std::string_view bytes) const;
  void grow();

  std::string bytes_;
  std::vector<Place> places_;        ///< [id]
  std::vector<std::int32_t> slots_;  ///< an id or -1, by the hash of its bytes; a power of two of them
  std::size_t used_ = 0;
};

}  // namespace octet
