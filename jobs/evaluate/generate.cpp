#include "jobs/evaluate/generate.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>

#include "src/base/error.h"
#include "src/base/files.h"
#include "src/base/log.h"
#include "src/base/printable.h"
#include "src/base/round_up.h"
#include "src/base/seconds_since.h"
#include "src/comm/control_exchange.h"
#include "src/corpus/utf8.h"
#include "src/evaluate/generator.h"
#include "src/evaluate/text_stream.h"

namespace octet::evaluate {
namespace {

using Clock = std::chrono::steady_clock;

/// Tokens of a prompt that go through the model at once.
std::int64_t usual_pass(DeviceType device) {
  return device == DeviceType::cpu ? 512 : 2048;
}

/// The first rank's file, since others may see another one.
std::string prompt_of(const GenerateOptions& o, Communicator& control) {
  if (o.prompt_file.empty()) return o.prompt;
  if (!o.prompt.empty()) throw usage_error("evaluate", "--prompt and --prompt-file; expected one of them");
  return broadcast_bytes(log::rank() == 0 ? given_text("evaluate", o.prompt_file, "a prompt") : "", 0, control);
}

/// The ids of the prompt, after a BOS where the tokenizer's file puts one. For an empty prompt, a token that may stand
/// before a text: BOS or EOS of the tokenizer or, where it names neither, of the model's folder.
std::vector<std::int32_t> ids_of(const std::string& prompt, const Tokenizer& tokenizer, const ModelSource& source) {
  const TokenizerInfo& info = tokenizer.info();
  if (tokenizer.needs_utf8()) {
    if (const auto bad = find_bad_utf8(prompt))
      throw usage_error("evaluate", "the prompt is no UTF-8 from byte {} on", *bad);
  }
  if (const auto refused = tokenizer.find_refused(prompt)) {
    throw usage_error("evaluate", "byte {} of the prompt, {}, is one that the tokenizer {} has no text for", *refused,
                      static_cast<int>(static_cast<unsigned char>(prompt[*refused])), info.kind);
  }
  std::vector<std::int32_t> ids;
  if (info.bos && (info.adds_bos || prompt.empty())) ids.push_back(*info.bos);
  for (const auto& id : {info.eos, source.bos, source.eos}) {
    if (prompt.empty() && ids.empty() && id) ids.push_back(*id);
  }
  tokenizer.make_encoder()->encode(prompt, ids);
  if (ids.empty()) {
    throw usage_error("evaluate", "the prompt is empty, and the tokenizer has no token to begin with; give --prompt");
  }
  return ids;
}

void check_layout(Mesh& mesh) {
  const int copies = mesh.world().size() / mesh.tp().size();
  if (copies == 1) return;
  throw usage_error("evaluate",
                    "--generate with {} ranks and --tp {}: {} groups would write the same text; expected --tp {}",
                    mesh.world().size(), mesh.tp().size(), copies, mesh.world().size());
}

LlamaSettings settings_for(const ModelSource& source, const ModelOptions& options, const Ranks& ranks,
                           std::int64_t tokens) {
  LlamaSettings settings = settings_of(source, options, ranks.mesh);
  settings.forward_only = true;
  settings.cache_rows = tokens;
  // A whole pass is what a float8 run's micro-batch may be, on every device.
  const std::int64_t multiple = settings.cached_multiple(DeviceType::cuda);
  settings.seq_len = round_up(std::min(usual_pass(options.device), tokens), multiple);
  return settings;
}

/// Standard output of the first rank, at once. A terminal would obey the control characters that a model may write.
void show(const std::string& text) {
  if (log::rank() != 0 || text.empty()) return;
  fmt::print("{}", printable_on_terminal(text));
  std::fflush(stdout);
}

struct Speed {
  std::int64_t prompt = 0, generated = 0, timed = 0;
  double prompt_seconds = 0, seconds = 0;
  const char* end = "";

  void tell() const {
    const auto rate = [](std::int64_t tokens, double s) { return static_cast<double>(tokens) / std::max(s, 1e-9); };
    log::info("prompt: {} tokens in {:.3f} s, {:.1f} tokens/s", prompt, prompt_seconds, rate(prompt, prompt_seconds));
    log::info("generated: {} tokens{}; behind the first {} in {:.3f} s, {:.1f} tokens/s", generated, end, timed,
              seconds, rate(timed, seconds));
  }
};

/// The first token comes with the prompt: the others are what is timed as generation.
Speed write_on(const std::vector<std::int32_t>& ids, std::int64_t tokens, bool fills_window, const Sampling& sampling,
               const Tokenizer& tokenizer, const std::vector<std::int32_t>& ends, Generator& generator) {
  Speed speed{.prompt = std::ssize(ids)};
  TextStream text(tokenizer, ids.back());
  auto start = Clock::now();
  std::span<const float> logits = generator.extend(ids);
  speed.prompt_seconds = seconds_since(start);
  start = Clock::now();
  for (;;) {
    // Ids that the tokenizer lacks (a padded vocabulary) have no text, but those behind its last may end one.
    auto known = std::min<std::size_t>(logits.size(), static_cast<std::size_t>(tokenizer.info().vocab_size));
    while (known < logits.size() && std::ranges::find(ends, static_cast<std::int32_t>(known)) != ends.end()) ++known;
    const std::int32_t token = choose_token(logits.first(known), sampling, generator.tokens());
    if (std::ranges::find(ends, token) != ends.end()) {
      speed.end = ", and the end of the text";
      break;
    }
    show(text.add(token));
    ++speed.generated;
    if (speed.generated == tokens) {
      if (fills_window) speed.end = ", which fill the window";
      break;
    }
    logits = generator.extend({&token, 1});
    ++speed.timed;
  }
  speed.seconds = seconds_since(start);
  show(text.finish() + "\n");
  return speed;
}

}  // namespace

void generate(const std::string& path, const GenerateOptions& o, const ModelOptions& models, const Ranks& ranks) {
  check_layout(ranks.mesh);
  const std::string prompt = prompt_of(o, ranks.control);
  const ModelSource source = find_model(path, ranks.control);
  const std::int64_t window = window_of(source, models.window);
  const auto tokenizer = tokenizer_of(source, models.tokenizer, models.control_tokens);
  const std::vector<std::int32_t> ids = ids_of(prompt, *tokenizer, source);
  if (std::ssize(ids) >= window) {
    throw usage_error("evaluate", "the prompt has {} tokens, and {} sees {} at once; expected a prompt of at most {}",
                      ids.size(), source.name(), window, window - 1);
  }
  // The last token is not seen: nothing comes behind it.
  const std::int64_t tokens = std::min(o.tokens, window - std::ssize(ids) + 1);
  const LlamaSettings settings = settings_for(source, models, ranks, std::ssize(ids) + tokens - 1);
  const auto model = load_model(source, settings, models, ranks.mesh, ranks.stream, ranks.control);
  log::info("{}", text_of(source, settings, window));
  Generator generator(*model, ranks.mesh, ranks.stream);
  std::vector<std::int32_t> ends = source.ends;
  if (tokenizer->info().eos) ends.push_back(*tokenizer->info().eos);
  write_on(ids, tokens, tokens < o.tokens, o.sampling, *tokenizer, ends, generator).tell();
  log::info("{}", memory_text(ranks.stream.device()));
}

}  // namespace octet::evaluate
