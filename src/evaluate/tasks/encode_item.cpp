#include "src/evaluate/tasks/encode_item.h"

#include <algorithm>
#include <array>

#include "src/base/error.h"
#include "src/evaluate/tasks/python_text.h"

namespace octet {

ItemEncoder::ItemEncoder(const Tokenizer& tokenizer) : tokenizer_(tokenizer), encoder_(tokenizer.make_encoder()) {
  const TokenizerInfo& info = tokenizer.info();
  if (info.adds_eos) {
    throw usage_error("evaluate",
                      "{}: its file, or tokenizer_config.json beside it, puts a token behind every text; expected "
                      "none, since choices "
                      "go on where their context ends",
                      info.path);
  }
  if (const auto prefix = info.bos ? info.bos : info.eos; prefix && !info.path.empty()) {
    bos_text_ = tokenizer.decode(std::array{*prefix});
  }
}

std::vector<std::int32_t> ItemEncoder::ids_of(std::string_view text, bool bos) {
  std::vector<std::int32_t> ids;
  const bool has_it = !bos_text_.empty() && text.starts_with(bos_text_);
  if (bos && tokenizer_.info().adds_bos && !has_it) ids.push_back(*tokenizer_.info().bos);
  encoder_->encode(text, ids);
  return ids;
}

ScoreRequest ItemEncoder::encode(std::string_view context, std::string_view continuation) {
  const TokenizerInfo& info = tokenizer_.info();
  if (context.empty()) {
    const auto prefix = info.bos ? info.bos : info.eos;
    if (!prefix) return {{}, ids_of(continuation, false)};
    std::vector<std::int32_t> ids = ids_of(continuation, false);
    if (ids.empty() || ids.front() != *prefix) return {{*prefix}, std::move(ids)};
    return {{*prefix}, {ids.begin() + 1, ids.end()}};
  }
  const std::string_view kept = right_stripped(context);
  const std::vector<std::int32_t> whole = ids_of(std::string(context).append(continuation), true);
  std::vector<std::int32_t> before = ids_of(kept, true);
  const auto cut = static_cast<std::ptrdiff_t>(std::min(before.size(), whole.size()));
  return {std::move(before), {whole.begin() + cut, whole.end()}};
}

std::vector<ScoreRequest> ItemEncoder::encode(const TaskItem& item, std::int64_t window) {
  std::vector<ScoreRequest> requests;
  const std::size_t count = std::max(item.contexts.size(), item.continuations.size());
  for (std::size_t i = 0; i < count; ++i) {
    ScoreRequest request = encode(item.context(i), item.continuation(i));
    const auto tokens = static_cast<std::int64_t>(request.continuation.size());
    if (tokens == 0 || request.context.empty()) {
      throw usage_error("evaluate", "{}: choice {}: {} has no token of its own", item.place, i,
                        tokens == 0 ? "it" : "its context");
    }
    if (tokens > window) {
      throw usage_error("evaluate", "{}: choice {} has {} tokens; expected at most the window of {}", item.place, i,
                        tokens, window);
    }
    requests.push_back(std::move(request));
  }
  return requests;
}

EncodedTask encode_task(const LoadedTask& task, ItemEncoder& encoder, std::int64_t window) {
  EncodedTask out;
  for (const TaskItem& item : task.items) {
    out.questions.push_back(encoder.encode(item, window));
    bool cut = false;
    for (const ScoreRequest& choice : out.questions.back()) {
      const auto tokens = std::ssize(choice.context) + std::ssize(choice.continuation) - 1;  // the last is not seen
      out.longest = std::max(out.longest, std::min<std::int64_t>(tokens, window));
      cut |= tokens > window;
    }
    out.cut += cut ? 1 : 0;
  }
  return out;
}

}  // namespace octet
