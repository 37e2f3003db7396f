#include "src/evaluate/documents.h"

#include <algorithm>
#include <utility>

#include "src/base/error.h"
#include "src/corpus/part_plan.h"

namespace octet {
namespace {

class TokenReader final : public DocumentReader {
 public:
  explicit TokenReader(const TokenDocuments& options) : options_(options), file_(*options_.file) {
    if (file_.documents() == 0) throw usage_error("evaluate", "{}: has no documents", file_.bin_path());
  }

  bool next(EvaluatedDocument& document) override {
    if (next_ == file_.documents()) return false;
    auto& tokens = document.tokens;
    tokens.resize(static_cast<std::size_t>(file_.document_tokens(next_)));
    file_.read(file_.document_begin(next_++), tokens, options_.vocab_size);
    if (options_.bos && !tokens.empty() && tokens.front() == *options_.bos) tokens.erase(tokens.begin());
    if (options_.eos && !tokens.empty() && tokens.back() == *options_.eos) tokens.pop_back();
    document.bytes.reset();
    if (options_.tokenizer != nullptr) {
      document.bytes = static_cast<std::int64_t>(options_.tokenizer->decode(tokens).size());
    }
    return true;
  }

  double share() const override {
    if (next_ == file_.documents()) return 1;
    return static_cast<double>(file_.document_begin(next_)) / static_cast<double>(file_.tokens());
  }

 private:
  TokenDocuments options_;
  const TokenFile& file_;
  std::int64_t next_ = 0;
};

/// One unit after the other, whose chunks are encoded as `octet prepare` does.
class TextReader final : public DocumentReader {
 public:
  TextReader(const TextDocuments& options, const Tokenizer& tokenizer)
      : tokenizer_(tokenizer),
        read_{.split = options.split, .field = options.field, .max_document = options.max_document},
        encoder_(tokenizer, {.field = options.field, .max_document = options.max_document, .eos = false}) {
    const InputPlan plan = plan_input(find_input_files({options.input}), options.format, 256 << 20, {});
    bytes_ = plan.bytes;
    for (const InputPart& part : plan.parts) units_.insert(units_.end(), part.units.begin(), part.units.end());
  }

  bool next(EvaluatedDocument& document) override {
    document.tokens.clear();
    document.bytes = 0;
    for (;;) {
      if (piece_ == encoded_.pieces.size()) {
        if (!read_chunk()) return false;
        continue;
      }
      const EncodedChunk::Piece& piece = encoded_.pieces[piece_++];
      document.tokens.insert(document.tokens.end(), encoded_.ids.begin() + static_cast<std::ptrdiff_t>(ids_),
                             encoded_.ids.begin() + static_cast<std::ptrdiff_t>(piece.ids_end));
      ids_ = piece.ids_end;
      *document.bytes += piece.text_bytes;
      if (piece.ends_document) return true;
    }
  }

  double share() const override {
    const double pieces = static_cast<double>(encoded_.pieces.size());
    const double of_chunk = pieces == 0 ? 1 : static_cast<double>(piece_) / pieces;
    const double read =
        static_cast<double>(before_chunk_) + of_chunk * static_cast<double>(behind_chunk_ - before_chunk_);
    return std::min(read / std::max(static_cast<double>(bytes_), 1.0), 1.0);
  }

 private:
  bool read_chunk() {
    while (!reader_ || !reader_->next(chunk_)) {
      if (unit_ == units_.size()) {
        behind_chunk_ = bytes_;
        return false;
      }
      if (unit_ > 0) before_unit_ += units_[unit_ - 1].end - units_[unit_ - 1].begin;
      lines_ = 0;
      reader_ = read_unit(units_[unit_++], read_, tokenizer_);
    }
    before_chunk_ = std::exchange(behind_chunk_, before_unit_ + reader_->used());
    encoded_ = encoder_.encode(chunk_);
    piece_ = ids_ = 0;
    if (encoded_.refused) refuse(*encoded_.refused);
    if (!encoded_.shown.empty()) refuse(encoded_.shown.front());
    if (encoded_.broken > 0) throw usage_error("evaluate", "{}: has rows without a text", units_[unit_ - 1].path);
    lines_ += encoded_.lines;
    return true;
  }

  [[noreturn]] void refuse(const Trouble& trouble) const {
    std::string place = units_[unit_ - 1].path;  // of plain text the trouble names the byte
    if (encoded_.records == Records::lines) place += fmt::format(": line {}", lines_ + trouble.place);
    if (encoded_.records == Records::rows) place += fmt::format(": row {}", trouble.place);
    throw usage_error("evaluate", "{}: {}", place, trouble.what);
  }

  const Tokenizer& tokenizer_;
  ReaderOptions read_;
  ChunkEncoder encoder_;
  std::vector<InputUnit> units_;
  std::unique_ptr<ChunkReader> reader_;
  Chunk chunk_;
  EncodedChunk encoded_;
  std::size_t unit_ = 0, piece_ = 0, ids_ = 0;
  std::int64_t lines_ = 0;
  /// Bytes on the disk: all, of the units before this one, and those before and behind the chunk.
  std::int64_t bytes_ = 0, before_unit_ = 0, before_chunk_ = 0, behind_chunk_ = 0;
};

}  // namespace

std::unique_ptr<DocumentReader> read_token_documents(const TokenDocuments& options) {
  return std::make_unique<TokenReader>(options);
}

std::unique_ptr<DocumentReader> read_texts(const TextDocuments& options, const Tokenizer& tokenizer) {
  return std::make_unique<TextReader>(options, tokenizer);
}

}  // namespace octet
