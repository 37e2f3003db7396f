#pragma once

#include <boost/context/protected_fixedsize_stack.hpp>
#include <cstddef>
#include <cstdint>

namespace octet::emulated {

/// The stack of fiber `number`, with a page behind its end that nobody may touch. Stacks do not begin at the same place
/// of their pages, where they would share a few lines of the processor's cache.
class Stacks {
 public:
  static constexpr std::size_t bytes = 128 * 1024;

  /// `top`: is told where the stack begins, at its highest address.
  Stacks(unsigned number, std::uintptr_t& top) : shift_(number % 32 * 128), top_(&top) {}
  boost::context::stack_context allocate() {
    boost::context::stack_context stack = all_.allocate();
    stack.sp = static_cast<char*>(stack.sp) - shift_;
    *top_ = reinterpret_cast<std::uintptr_t>(stack.sp);
    return stack;
  }
  void deallocate(boost::context::stack_context& stack) noexcept {
    stack.sp = static_cast<char*>(stack.sp) + shift_;
    all_.deallocate(stack);
  }

 private:
  boost::context::protected_fixedsize_stack all_{bytes};
  std::size_t shift_;
  std::uintptr_t* top_;
};

}  // namespace octet::emulated
