#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "src/evaluate/scorer.h"
#include "src/evaluate/tasks/load_task.h"
#include "src/tokenizer/tokenizer.h"

namespace octet {

/// Texts to tokens as lm-eval-harness does for models of transformers (_encode_pair of lm_eval/api/model.py): blanks at
/// the end of a context go to the continuation, the whole and the context are encoded, and the continuation is what the
/// whole has more. BOS stands before both where the tokenizer's file says so, and not a second time before a context
/// that spells it; before an empty context stands BOS, or EOS. One thread.
class ItemEncoder {
 public:
  /// Usage error for a tokenizer whose file puts a token behind every text.
  explicit ItemEncoder(const Tokenizer& tokenizer);

  /// The context is empty where it was, and there is neither BOS nor EOS.
  ScoreRequest encode(std::string_view context, std::string_view continuation);
  /// A request a choice. Usage error, with the row's place and the choice's number, for one that adds no token to its
  /// context, for one longer than the window, and for an empty context without BOS and EOS.
  std::vector<ScoreRequest> encode(const TaskItem& item, std::int64_t window);

  bool adds_bos() const { return tokenizer_.info().adds_bos; }

 private:
  std::vector<std::int32_t> ids_of(std::string_view text, bool bos);

  const Tokenizer& tokenizer_;
  std::unique_ptr<Encoder> encoder_;
  std::string bos_text_{};
};

/// A task's questions as a model is asked them.
struct EncodedTask {
  std::vector<std::vector<ScoreRequest>> questions{};  ///< a request a choice
  std::int64_t longest = 0;                            ///< the most tokens that the model sees of a choice
  std::int64_t cut = 0;  ///< questions of which a choice loses tokens at its left, to fit into the window
};
/// All of them at once, so that one that cannot be asked is found before the first is. Usage errors of
/// ItemEncoder::encode.
EncodedTask encode_task(const LoadedTask& task, ItemEncoder& encoder, std::int64_t window);

}  // namespace octet
