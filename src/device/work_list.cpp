#include "src/device/work_list.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "src/base/error.h"

namespace octet {

void WorkList::add(const Kind& kind, const void* arguments, std::size_t bytes) {
  const std::size_t begin = arguments_.size();
  arguments_.resize(begin + (bytes + alignment - 1) / alignment * alignment);
  std::memcpy(arguments_.data() + begin, arguments, bytes);
  pieces_.push_back({&kind, begin});
}

void WorkList::clear() {
  pieces_.clear();
  arguments_.clear();
}

void WorkList::give(Stream& stream) const {
  for (const Piece& piece : pieces_) piece.kind->give(stream, arguments_of(piece));
}

bool WorkList::operator==(const WorkList& other) const {
  return std::ranges::equal(pieces_, other.pieces_, [&](const Piece& a, const Piece& b) {
    return a.kind == b.kind && a.kind->same(arguments_of(a), other.arguments_of(b));
  });
}

Listing::Listing(Stream& stream, WorkList& list) : stream_(stream), list_(list) {
  if (current_ != nullptr) throw internal_error("device", "a stream's work is listed already; expected one at a time");
  list_.clear();
  current_ = this;
}

Listing::~Listing() {
  if (current_ == this) current_ = nullptr;
}

const char* Listing::end() {
  if (current_ == this) current_ = nullptr;
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  return why_;
}

void Listing::flush_now(const char* why) noexcept {
  current_ = nullptr;
  why_ = why;
  try {
    list_.give(stream_);
    list_.clear();
  } catch (...) {
    failure_ = std::current_exception();  // of the first piece that failed: end() tells
  }
}

}  // namespace octet
