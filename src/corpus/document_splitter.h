#pragma once

#include <cstdint>
#include <string>
#include <string_view>

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
  /// `offset`: where the piece begins in the file.
  virtual void text(std::string_view piece, std::int64_t offset) = 0;
  /// Comes only behind at least one byte of text.
  virtual void end_document() = 0;
};

/// Cuts files, which come in chunks of any size, into documents; never keeps more than the white space that a line
/// begins with (cut at 64 KiB, where a line counts as text).
class DocumentSplitter {
 public:
  DocumentSplitter(SplitDocuments kind, DocumentSink& sink) : kind_(kind), sink_(sink) {}

  void feed(std::string_view chunk);
  void end_file();

 private:
  void feed_line_part(std::string_view part, bool ends_line);
  void emit(std::string_view piece, std::int64_t offset);
  void end_document();

  SplitDocuments kind_;
  DocumentSink& sink_;
  bool in_document_ = false;
  bool line_has_text_ = false;
  std::int64_t offset_ = 0;  ///< in the file, of what comes next
  std::string line_start_;   ///< white space of a line of which it is not yet known whether it is blank
};

}  // namespace octet
