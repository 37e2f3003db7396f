#include "src/evaluate/documents.h"

#include "src/base/error.h"
#include "src/corpus/part_plan.h"
#include "src/data/token_file.h"

namespace octet {
namespace {

class TokenReader final : public DocumentReader {
 public:
  explicit TokenReader(const TokenDocuments& options) : options_(options), file_(options.path) {
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

 private:
  TokenDocuments options_;
  TokenFile file_;
  std::int64_t next_ = 0;
};

/// One unit after the other, whose chunks are encoded as `octet prepare` does.
class TextReader final : public DocumentReader {
 public:
  TextReader(const TextDocuments& options, const Tokenizer& tokenizer)
      : tokenizer_(tokenizer),
        read_{.split = options.split, .field = options.field},
        encoder_(tokenizer, {.field = options.field, .eos = false}) {
    const InputPlan plan = plan_input(find_input_files({options.input}), options.format, 256 << 20, {});
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

 private:
  bool read_chunk() {
    while (!reader_ || !reader_->next(chunk_)) {
      if (unit_ == units_.size()) return false;
      lines_ = 0;
      reader_ = read_unit(units_[unit_++], read_, tokenizer_);
    }
    encoded_ = encoder_.encode(chunk_);
    piece_ = ids_ = 0;
    if (encoded_.refused) refuse(*encoded_.refused);
    if (!encoded_.shown.empty()) refuse(encoded_.shown.front());
    if (encoded_.broken > 0) throw usage_error("evaluate", "{}: has rows without a text", units_[unit_ - 1].path);
    lines_ += encoded_.lines;
    return true;
  }

  [[noreturn]] void refuse(const Trouble& trouble) const {
    const std::int64_t place = encoded_.records == Records::lines ? lines_ + trouble.place : trouble.place;
    const char* what = encoded_.records == Records::lines ? "line" : encoded_.records == Records::rows ? "row" : "byte";
    throw usage_error("evaluate", "{}: {} {}: {}", units_[unit_ - 1].path, what, place, trouble.what);
  }

  const Tokenizer& tokenizer_;
  ReaderOptions read_;
  ChunkEncoder encoder_;
  std::vector<Unit> units_;
  std::unique_ptr<ChunkReader> reader_;
  Chunk chunk_;
  EncodedChunk encoded_;
  std::size_t unit_ = 0, piece_ = 0, ids_ = 0;
  std::int64_t lines_ = 0;
};

}  // namespace

std::unique_ptr<DocumentReader> read_token_documents(const TokenDocuments& options) {
  return std::make_unique<TokenReader>(options);
}

std::unique_ptr<DocumentReader> read_texts(const TextDocuments& options, const Tokenizer& tokenizer) {
  return std::make_unique<TextReader>(options, tokenizer);
}

}  // namespace octet
