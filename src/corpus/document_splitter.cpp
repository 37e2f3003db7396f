#include "src/corpus/document_splitter.h"

#include <algorithm>
#include <cstring>

#include "src/base/error.h"

namespace octet {
namespace {

constexpr std::size_t longest_line_start = 64 << 10;

bool is_white(std::uint8_t byte) {
  return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n' || byte == '\f' || byte == '\v';
}

}  // namespace

SplitDocuments split_documents_from(std::string_view name) {
  if (name == "none") return SplitDocuments::none;
  if (name == "blank-lines") return SplitDocuments::blank_lines;
  throw usage_error("corpus", "--split-documents is \"{}\"; expected none or blank-lines", name);
}

void DocumentSplitter::emit(std::span<const std::uint8_t> piece) {
  if (piece.empty()) return;
  in_document_ = true;
  sink_.text(piece);
}

void DocumentSplitter::end_document() {
  if (in_document_) sink_.end_document();
  in_document_ = false;
}

void DocumentSplitter::feed(std::span<const std::uint8_t> chunk) {
  if (kind_ == SplitDocuments::none) return emit(chunk);
  while (!chunk.empty()) {
    const void* newline = std::memchr(chunk.data(), '\n', chunk.size());
    const std::size_t length =
        newline == nullptr ? chunk.size()
                           : static_cast<std::size_t>(static_cast<const std::uint8_t*>(newline) - chunk.data()) + 1;
    feed_line_part(chunk.first(length), newline != nullptr);
    chunk = chunk.subspan(length);
  }
}

void DocumentSplitter::feed_line_part(std::span<const std::uint8_t> part, bool ends_line) {
  if (!line_has_text_) {
    const bool blank = std::ranges::all_of(part, is_white);
    if (blank && ends_line) {
      line_start_.clear();
      return end_document();
    }
    if (blank && line_start_.size() + part.size() <= longest_line_start) {
      line_start_.insert(line_start_.end(), part.begin(), part.end());
      return;
    }
    line_has_text_ = true;
    emit(line_start_);
    line_start_.clear();
  }
  emit(part);
  if (ends_line) line_has_text_ = false;
}

void DocumentSplitter::end_file() {
  if (!line_start_.empty()) line_start_.clear();  // white space behind the last newline
  line_has_text_ = false;
  end_document();
}

}  // namespace octet
