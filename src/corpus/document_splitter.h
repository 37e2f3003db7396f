#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace octet {

/// What one document is.
enum class SplitDocuments {
  none,         ///< a file
  blank_lines,  ///< a group of lines between blank lines, which are left out
};

/// Usage error lists the known names: none, blank-lines.
SplitDocuments split_documents_from(std::string_view name);

/// Receives documents in pieces.
class DocumentSink {
 public:
  virtual ~DocumentSink() = default;
  virtual void text(std::span<const std::uint8_t> piece) = 0;
  /// Comes only behind at least one byte of text.
  virtual void end_document() = 0;
};

/// Cuts files, which come in chunks of any size, into documents; never keeps more than the white space that a line
/// begins with (cut at 64 KiB, where a line counts as text).
class DocumentSplitter {
 public:
  DocumentSplitter(SplitDocuments kind, DocumentSink& sink) : kind_(kind), sink_(sink) {}

  void feed(std::span<const std::uint8_t> chunk);
  void end_file();

 private:
  void feed_line_part(std::span<const std::uint8_t> part, bool ends_line);
  void emit(std::span<const std::uint8_t> piece);
  void end_document();

  SplitDocuments kind_;
  DocumentSink& sink_;
  bool in_document_ = false;
  bool line_has_text_ = false;
  std::vector<std::uint8_t> line_start_;  ///< white space of a line of which it is not yet known whether it is blank
};

}  // namespace octet
