#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "tests/emulated/checks/watched.h"

/// The checks of what a kernel's thread reads and writes: that it is there, and that nobody else reaches it at the same
/// time. What fails ends the kernel with a fault.
namespace octet::emulated {

enum class Access : std::uint8_t {
  read,
  write,
  atomic,       ///< reads and writes, or writes, at once
  atomic_read,  ///< volatile reads too
  copy,         ///< into shared memory, which goes on until its thread waits for it
};

constexpr std::uintptr_t stack_bytes = 128 * 1024;  ///< of a kernel's thread

/// Of memory that is not of the thread's own stack. `from`: the instruction behind it, for messages.
void check_access(std::uintptr_t at, std::size_t size, Access access, Watched& me, const void* from);
/// The copy has been waited for: what it wrote counts as its thread's from now on.
void settle_copy(std::uintptr_t to, std::size_t size, Watched& me);

/// An atomic that reads and writes device memory. `exchange` does it and returns whether it wrote; others' exchanges at
/// this address of device memory are before or after.
void synchronize(std::uintptr_t at, bool releases, bool acquires, Watched& me, const std::function<bool()>& exchange);
/// Whether what another block of the launch did is before what `me` does now: counted, and the count read.
bool is_acquired(const Touched& by, const Watched& me);
/// Whether `me` knows of anybody's count: of what many blocks did no more is remembered.
bool has_acquired(const Watched& me);

/// Ends the kernel with a fault that names the line. Does not return, nor throw: compilers take it that accesses do
/// neither.
[[noreturn]] void refuse(const std::string& what, const void* from);

}  // namespace octet::emulated
