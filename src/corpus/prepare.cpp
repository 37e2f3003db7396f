#include "src/corpus/prepare.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "src/base/error.h"
#include "src/base/log.h"
#include "src/base/printable.h"
#include "src/base/progress.h"
#include "src/base/seconds_since.h"
#include "src/base/usable_cores.h"
#include "src/base/utf8_piece.h"
#include "src/corpus/existing_outputs.h"
#include "src/corpus/making.h"
#include "src/corpus/outputs.h"
#include "src/corpus/part_folder.h"
#include "src/corpus/part_joiner.h"
#include "src/corpus/pipeline.h"
#include "src/tokenizer/make_tokenizer.h"

namespace octet {
namespace {

void check(const PrepareOptions& options, const TokenizerInfo& tokenizer) {
  if (options.bos && !tokenizer.bos) {
    throw usage_error("corpus", "--bos: the {} tokenizer has no token that begins a document", tokenizer.kind);
  }
  if (options.eos && !tokenizer.eos) {
    throw usage_error("corpus",
                      "the {} tokenizer has no token that ends a document; --eos-token names one, and "
                      "--no-eos writes documents without",
                      tokenizer.kind);
  }
  if (!is_utf8(options.field)) {  // no file has it, and making.json could not be written
    throw usage_error("corpus", "--field {}: is no UTF-8; expected the name of a key or column",
                      readable(options.field));
  }
  if (!(options.holdout >= 0 && options.holdout < 1)) {
    throw usage_error("corpus", "--holdout is {}; expected a share of the documents, at least 0 and below 1",
                      options.holdout);
  }
}

/// One call of prepare.
class Preparation {
 public:
  explicit Preparation(const PrepareOptions& options)
      : options_(options),
        tokenizer_(make_tokenizer(options.tokenizer, options.tokenizer_options)),
        identity_(identity_of(tokenizer_->info())),
        outputs_(outputs_of(options.output, options.part, options.holdout > 0)),
        broken_(options.max_bad) {
    check(options_, tokenizer_->info());
    if (options_.workers == 0) options_.workers = usable_cores();
  }

  PrepareReport run() {
    const InputFiles input = find_input_files(options_.inputs);
    refuse_inputs_in(PartFolder::path_of(outputs_.kept), input);
    refuse_inputs_as_outputs(outputs_, identity_.kind, input);
    plan_ = plan_input(input, options_.format, options_.part_bytes, options_.part);
    say_what_comes(input);
    report_.files = plan_.files;
    report_.skipped = static_cast<std::int64_t>(input.skipped.size());
    report_.input_bytes = plan_.bytes;
    report_.workers = options_.workers;
    const Making making = making_of(options_, input, identity_);
    origin_ = origin_of(making, options_, input, identity_);
    refuse_pair_beside_parts(options_.output, options_.part, options_.holdout > 0);
    keeps_existing_ = !options_.overwrite && !PartFolder::is_begun(outputs_.kept, making);
    if (keeps_existing_) {
      if (is_made(outputs_, origin_.command)) return made_before();
      refuse_existing(outputs_, origin_.command);
      if (is_kept_without_held_out(outputs_, origin_.command)) {
        log::warning("{} is gone, which the same command had made with {}: both are made anew", outputs_.held_out,
                     outputs_.kept);
      }
    }
    if (options_.holdout == 0) refuse_old_holdout(options_.output, options_.part);
    if (plan_.parts.size() > 1) {
      make_in_parts(making);
    } else {
      make_at_once();
      copy_tokenizers();
    }
    return finished_report();
  }

 private:
  /// For outputs that the same command has made before, as when a task of an array job is run again. Of the text, it
  /// reports only what can be seen in the tokens.
  PrepareReport made_before() {
    log::info("{} is made already, by the same command from the same input; --overwrite makes it anew", outputs_.kept);
    copy_tokenizers();  // which come last
    auto left = PartFolder::left(outputs_.kept);
    if (left && !left->has_parts()) left->remove();
    report_.made_before = true;
    report_.counts.kept = counts_of(outputs_.kept);
    if (!outputs_.held_out.empty()) report_.counts.held_out = counts_of(outputs_.held_out);
    return finished_report();
  }

  PrepareReport finished_report() {
    for (const std::string& prefix : {outputs_.kept, outputs_.held_out}) {
      if (!prefix.empty()) name_files(prefix);
    }
    return std::move(report_);
  }

  void say_what_comes(const InputFiles& input) const {
    for (const auto& [format, files] : plan_.formats) log::info("{}: {} file{}", format, files, files == 1 ? "" : "s");
    if (!input.skipped.empty()) {
      log::info("skipped {} hidden files, linked folders and special files, the first is {}", input.skipped.size(),
                readable(input.skipped.front()));
    }
    log::info(
        "{} workers; of text at most {} are in memory, ids of as many take up to {}, and documents above {} come on "
        "top",
        options_.workers, format_bytes(text_in_flight(pipeline())), format_bytes(4 * text_in_flight(pipeline())),
        format_bytes(options_.chunk_bytes));
  }

  PipelineOptions pipeline() const {
    return {.workers = options_.workers,
            .read = {.split = options_.split,
                     .field = options_.field,
                     .chunk_bytes = options_.chunk_bytes,
                     .max_document = options_.max_document,
                     .cut_documents = options_.holdout == 0},
            .encode = {.field = options_.field,
                       .bad_utf8 = options_.bad_utf8,
                       .bad_utf8_advice = "--bad-utf8 replace takes it",
                       .max_document = options_.max_document,
                       .bos = options_.bos,
                       .eos = options_.eos,
                       .holdout = options_.holdout}};
  }

  PartWriter::Files files(const Outputs& outputs, bool overwrite) const {
    return {.prefix = outputs.kept,
            .holdout = outputs.held_out,
            .type = token_type_for(identity_.vocab_size),
            .options = {.overwrite = overwrite, .tokenizer = identity_, .origin = origin_}};
  }

  /// Called when the outputs are locked: another command may have made them since they were first looked at; from now
  /// on none can.
  void look_again() const {
    if (keeps_existing_) refuse_existing(outputs_, origin_.command);
  }

  /// Without a folder of parts: it would cost more than it can save.
  void make_at_once() {
    std::optional<PartFolder> left = PartFolder::left(outputs_.kept);
    if (left && left->has_parts() && !options_.overwrite) {
      throw usage_error("corpus", "{} has parts of another run; --overwrite removes it",
                        PartFolder::path_of(outputs_.kept));
    }
    plan_.parts.resize(1);                           // an empty share of the input gives an empty pair
    PartWriter::Files pair = files(outputs_, true);  // what is there was looked at
    pair.may_be_empty = options_.part.shares > 1;
    pair.inputs = options_.inputs;
    auto writer = std::make_unique<PartWriter>(plan_.parts[0], pair, broken_);
    look_again();
    work_on_parts({.parts = plan_.parts,
                   .todo = {0},
                   .open = [&](std::size_t) { return std::move(writer); },
                   .finished = [&](std::size_t, const PartCounts& counts) { report_.counts.add(counts); }},
                  *tokenizer_, pipeline());
    if (left) left->remove();
    report_.parts = 1;
  }

  void make_in_parts(const Making& making) {
    PartFolder folder(outputs_.kept, making, options_.overwrite, plan_.parts, outputs_.held_out);
    report_.parts = static_cast<std::int64_t>(plan_.parts.size());
    if (const auto joined = folder.joined()) {
      report_.counts = *joined;
      report_.parts_before = report_.parts;
    } else {
      make_and_join(folder);
      folder.set_joined(report_.counts);
    }
    copy_tokenizers();  // before the folder goes, which says that something is left to do
    folder.remove();
  }

  void make_and_join(PartFolder& folder) {
    std::vector<std::optional<PartCounts>> done;
    std::vector<std::size_t> todo;
    std::vector<bool> finished_before;
    for (std::size_t part = 0; part < plan_.parts.size(); ++part) {
      done.push_back(folder.finished(part));
      finished_before.push_back(done.back().has_value());
      if (!done.back()) todo.push_back(part);
      if (done.back()) broken_.add(done.back()->broken);
    }
    report_.parts_before = report_.parts - static_cast<std::int64_t>(todo.size());
    if (report_.parts_before > 0) log::info("{} of {} parts are finished already", report_.parts_before, report_.parts);
    PartJoiner joiner(outputs_of_parts(folder), std::move(finished_before));
    try {
      look_again();
    } catch (...) {
      folder.take_back();  // else the next call would take the other command's outputs for its own
      throw;
    }
    const auto open = [&](std::size_t part) {
      const Outputs outputs{folder.prefix_of(part), outputs_.held_out.empty() ? "" : folder.holdout_of(part)};
      return std::make_unique<PartWriter>(plan_.parts[part], files(outputs, true), broken_);
    };
    const auto finished = [&](std::size_t part, const PartCounts& counts) {
      folder.set_finished(part, counts);
      done[part] = counts;
      joiner.part_is_finished(part);
    };
    work_on_parts({.parts = plan_.parts, .todo = std::move(todo), .open = open, .finished = finished}, *tokenizer_,
                  pipeline());
    for (const auto& counts : done) report_.counts.add(*counts);
    refuse_no_text();
    joiner.finish();
    if (!outputs_.held_out.empty()) write_facts(outputs_.held_out, report_.counts.held_out, identity_, origin_);
    write_facts(outputs_.kept, report_.counts.kept, identity_, origin_);
  }

  /// Held-out documents first, as they get their names first.
  std::vector<PartJoiner::Output> outputs_of_parts(const PartFolder& folder) const {
    PartJoiner::Output kept{.prefix = outputs_.kept, .parts = {}}, held_out{.prefix = outputs_.held_out, .parts = {}};
    for (std::size_t part = 0; part < plan_.parts.size(); ++part) {
      kept.parts.push_back(folder.prefix_of(part));
      held_out.parts.push_back(folder.holdout_of(part));
    }
    if (outputs_.held_out.empty()) return {std::move(kept)};
    return {std::move(held_out), std::move(kept)};
  }

  void refuse_no_text() const {
    const std::int64_t documents = report_.counts.kept.documents + report_.counts.held_out.documents;
    if (documents > 0 || options_.part.shares > 1) return;
    throw no_text(options_.inputs, plan_.files);
  }

  void copy_tokenizers() const {
    for (const std::string& prefix : {outputs_.kept, outputs_.held_out}) {
      if (!prefix.empty()) copy_tokenizer(prefix, tokenizer_->info());
    }
  }

  void name_files(const std::string& prefix) {
    const std::string copy = tokenizer_copy_path(prefix, identity_.kind);
    for (std::string& file : files_of(prefix)) report_.written.push_back(std::move(file));
    if (!copy.empty()) report_.written.push_back(copy);
  }

  PrepareOptions options_;
  std::unique_ptr<const Tokenizer> tokenizer_;
  TokenizerIdentity identity_;
  Outputs outputs_;
  DataOrigin origin_{};
  bool keeps_existing_ = false;  ///< without --overwrite, and where this command has not begun here before
  BrokenRecords broken_;
  InputPlan plan_{};
  PrepareReport report_{};
};

}  // namespace

PrepareReport prepare(const PrepareOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  PrepareReport report = Preparation(options).run();
  if (options.tokenizer == "bytes" && !report.made_before) {
    report.entropies = stream_entropies(TokenFile(outputs_of(options.output, options.part, false).kept));
  }
  report.seconds = seconds_since(start);
  return report;
}

}  // namespace octet
