#pragma once

#include <utility>

namespace octet {

/// Traits of handles that a function closes.
template <typename T, auto function, T none = T{}>
struct ClosedBy {
  using type = T;
  static type null() { return none; }
  static void close(type value) noexcept { function(value); }
};

/// Sole owner of a C library's handle. `Traits` has `type`, `static type null()` and `static void close(type)
/// noexcept`, which is called once for every handle that is not null. Movable, not copyable.
template <typename Traits>
class Handle {
 public:
  using type = typename Traits::type;

  Handle() = default;
  explicit Handle(type value) noexcept : value_(value) {}
  ~Handle() { reset(); }
  Handle(Handle&& other) noexcept : value_(std::exchange(other.value_, Traits::null())) {}
  Handle& operator=(Handle&& other) noexcept {
    if (this != &other) reset(std::exchange(other.value_, Traits::null()));
    return *this;
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  type get() const noexcept { return value_; }
  /// C functions fill in a handle through this. The present one is closed first.
  type* out() noexcept {
    reset();
    return &value_;
  }
  void reset(type value = Traits::null()) noexcept {
    if (value_ != Traits::null()) Traits::close(value_);
    value_ = value;
  }
  /// Hands the handle over to the caller, who has to close it.
  [[nodiscard]] type release() noexcept { return std::exchange(value_, Traits::null()); }
  explicit operator bool() const noexcept { return value_ != Traits::null(); }

 private:
  type value_ = Traits::null();
};

}  // namespace octet
