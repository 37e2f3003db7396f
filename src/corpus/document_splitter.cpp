#include "src/corpus/document_splitter.h"

#include <algorithm>

#include "src/base/error.h"

namespace octet {
namespace {

constexpr std::size_t longest_line_start = 64 << 10;

bool is_white(char byte) {
  return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n' || byte == '\f' || byte == '\v';
}

}  // namespace

SplitDocuments split_documents_from(std::string_view name) {
  if (name == "none") return SplitDocuments::none;
  if (name == "blank-lines") return SplitDocuments::blank_lines;
  throw usage_error("corpus", "--split-documents is \"{}\"; expected none or blank-lines", name);
}

void DocumentSplitter::emit(std::string_view piece, std::int64_t offset) {
  if (piece.empty()) return;
  in_document_ = true;
  sink_.text(piece, offset);
}

void DocumentSplitter::end_document() {
  if (in_document_) sink_.end_document();
  in_document_ = false;
}

void DocumentSplitter::feed(std::string_view chunk) {
  while (!chunk.empty()) {
    const std::size_t newline = kind_ == SplitDocuments::none ? std::string_view::npos : chunk.find('\n');
    const std::string_view part = chunk.substr(0, newline == std::string_view::npos ? newline : newline + 1);
    if (kind_ == SplitDocuments::none) {
      emit(part, offset_);
    } else {
      feed_line_part(part, newline != std::string_view::npos);
    }
    offset_ += static_cast<std::int64_t>(part.size());
    chunk.remove_prefix(part.size());
  }
}

void DocumentSplitter::feed_line_part(std::string_view part, bool ends_line) {
  if (!line_has_text_) {
    const bool blank = std::ranges::all_of(part, is_white);
    if (blank && ends_line) {
      line_start_.clear();
      return end_document();
    }
    if (blank && line_start_.size() + part.size() <= longest_line_start) {
      line_start_ += part;
      return;
    }
    line_has_text_ = true;
    emit(line_start_, offset_ - static_cast<std::int64_t>(line_start_.size()));
    line_start_.clear();
  }
  emit(part, offset_);
  if (ends_line) line_has_text_ = false;
}

void DocumentSplitter::end_file() {
  line_start_.clear();  // white space behind the last newline
  line_has_text_ = false;
  end_document();
}

}  // namespace octet
