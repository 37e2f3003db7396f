#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <type_traits>
#include <vector>

#include "src/device/work.h"

namespace octet {

/// Work for a stream in the order in which it is to be given, each piece with its arguments: two lists of the same work
/// on the same addresses are equal. Pointers are kept, not what they point at.
class WorkList {
 public:
  /// `give` puts such work on a stream, `describe` says what it asks of the device.
  template <auto give, auto describe, typename Arguments>
  void add(const Arguments& arguments) {
    static_assert(std::is_trivially_copyable_v<Arguments> && std::equality_comparable<Arguments>);
    static_assert(alignof(Arguments) <= alignment);
    static constexpr Kind kind{[](Stream& stream, const void* a) { give(stream, *static_cast<const Arguments*>(a)); },
                               [](const void* a) -> Work { return describe(*static_cast<const Arguments*>(a)); },
                               [](const void* a, const void* b) {
                                 return *static_cast<const Arguments*>(a) == *static_cast<const Arguments*>(b);
                               }};
    add(kind, &arguments, sizeof arguments);
  }

  std::int64_t size() const { return static_cast<std::int64_t>(pieces_.size()); }
  /// Empty again; its memory is kept for what is added next.
  void clear();
  /// Gives the stream all of it.
  void give(Stream& stream) const;
  /// Calls `tell` with the Work of each piece.
  template <typename Tell>
  void describe(Tell&& tell) const {
    for (const Piece& piece : pieces_) tell(piece.kind->describe(arguments_of(piece)));
  }
  bool operator==(const WorkList& other) const;

 private:
  struct Kind {
    void (*give)(Stream& stream, const void* arguments);
    Work (*describe)(const void* arguments);
    bool (*same)(const void* a, const void* b);
  };
  struct Piece {
    const Kind* kind;
    std::size_t arguments;  ///< where they begin
  };
  static constexpr std::size_t alignment = 16;

  void add(const Kind& kind, const void* arguments, std::size_t bytes);
  const void* arguments_of(const Piece& piece) const { return arguments_.data() + piece.arguments; }

  std::vector<Piece> pieces_;
  std::vector<std::byte> arguments_;
};

/// While it lives, the kernels that the calling thread gives to `stream` by a kernel table, and what it zeroes there,
/// go to `list` and are not done. One at a time.
///
/// What cannot be listed must still come behind what was: a wait for the stream or the device, an event, a
/// copy, memory that is taken or freed, or a library that wants the stream's handle. Devices and streams call flush()
/// before it. The work of the list is then done, and all that follows is done at once, as if there were no listing.
class Listing {
 public:
  Listing(Stream& stream, WorkList& list);
  ~Listing();
  Listing(const Listing&) = delete;
  Listing& operator=(const Listing&) = delete;

  /// Ends it. Returns null where all work stands in the list, else why it was flushed; the list is then empty. Throws
  /// what flushing threw.
  const char* end();

  /// The list to which the calling thread's work for that stream goes; null where it is to be done.
  static WorkList* of(const Stream& stream) {
    return current_ != nullptr && &current_->stream_ == &stream ? &current_->list_ : nullptr;
  }
  /// `why`, a literal, says what cannot be listed. Costs a look at a thread's variable where nothing is listed.
  static void flush(const char* why) noexcept {
    if (current_ != nullptr) current_->flush_now(why);
  }

 private:
  void flush_now(const char* why) noexcept;

  inline static thread_local Listing* current_ = nullptr;
  Stream& stream_;
  WorkList& list_;
  const char* why_ = nullptr;
  std::exception_ptr failure_;
};

}  // namespace octet
