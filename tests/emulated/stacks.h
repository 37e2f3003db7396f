#pragma once

#include <boost/context/protected_fixedsize_stack.hpp>
#include <cstddef>

namespace octet::emulated {

/// The stack of fiber `number`, with a page behind its end that nobody may touch. Stacks do not begin at the same place
/// of their pages, where they would share a few lines of the processor's cache.
class Stacks {
 public:
  explicit Stacks(unsigned number) : shift_(number % 32 * 128) {}
  boost::context::stack_context allocate() {
    boost::context::stack_context stack = all_.allocate();
    stack.sp = static_cast<char*>(stack.sp) - shift_;
    return stack;
  }
  void deallocate(boost::context::stack_context& stack) noexcept {
    stack.sp = static_cast<char*>(stack.sp) + shift_;
    all_.deallocate(stack);
  }

 private:
  boost::context::protected_fixedsize_stack all_{128 * 1024};
  std::size_t shift_;
};

}  // namespace octet::emulated
