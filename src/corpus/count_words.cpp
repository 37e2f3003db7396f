#include "src/corpus/count_words.h"

#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "src/base/error.h"
#include "src/base/log.h"
#include "src/base/progress.h"
#include "src/base/usable_cores.h"
#include "src/corpus/broken_records.h"
#include "src/corpus/input_files.h"
#include "src/corpus/part_writer.h"
#include "src/tokenizer/split/llama3.h"

namespace octet {
namespace {

constexpr std::int64_t unit_bytes = 16 << 20;  // of a plain file of lines, which several threads read

/// Takes a text's words away and gives no ids.
class CountingEncoder final : public Encoder {
 public:
  explicit CountingEncoder(WordCounter& counter) : counter_(counter) {}
  void encode(std::string_view text, std::vector<std::int32_t>&) override { counter_.add(text); }

 private:
  WordCounter& counter_;
};

/// What a ChunkEncoder may encode with, so that texts are read as they are for a tokenizer.
class CountingTokenizer final : public Tokenizer {
 public:
  explicit CountingTokenizer(WordCounter& counter) : Tokenizer({.kind = "words", .path = ""}), counter_(counter) {}

  std::unique_ptr<Encoder> make_encoder() const override { return std::make_unique<CountingEncoder>(counter_); }
  std::string decode(std::span<const std::int32_t>) const override { return ""; }
  bool needs_utf8() const override { return true; }
  std::optional<std::size_t> find_refused(std::string_view) const override { return std::nullopt; }
  std::size_t last_cut(std::string_view text) const override { return Llama3Split().last_cut(text); }

 private:
  WordCounter& counter_;
};

/// Threads that take one unit of the input after the other.
class Counting {
 public:
  Counting(const PrepareOptions& options, const InputPlan& plan)
      : options_(options), broken_(options.max_bad), progress_("count", plan.bytes) {
    for (const InputPart& part : plan.parts) units_.insert(units_.end(), part.units.begin(), part.units.end());
  }

  WordCounter run(int workers) {
    std::vector<WordCounter> counters(static_cast<std::size_t>(workers));
    std::vector<std::thread> threads;
    threads.reserve(counters.size());
    try {
      for (WordCounter& counter : counters) threads.emplace_back([&] { count_all(counter); });
    } catch (...) {  // the machine gives no more threads
      note_error();
    }
    for (std::thread& thread : threads) thread.join();
    if (error_) std::rethrow_exception(error_);
    WordCounter all;
    for (const WordCounter& counter : counters) all.merge(counter);
    return all;
  }

 private:
  void count_all(WordCounter& counter) {
    try {
      for (std::size_t unit = next_++; !stopped_ && unit < units_.size(); unit = next_++) count(units_[unit], counter);
    } catch (...) {
      note_error();
    }
  }

  void note_error() {
    const std::scoped_lock lock(mutex_);
    if (!error_) error_ = std::current_exception();
    stopped_ = true;
  }

  void count(const InputUnit& unit, WordCounter& counter) {
    const CountingTokenizer tokenizer(counter);
    ChunkEncoder encoder(tokenizer, {.field = options_.field,
                                     .bad_utf8 = options_.bad_utf8,
                                     .bad_utf8_advice = "--replace-bad-utf8 takes it",
                                     .max_document = options_.max_document,
                                     .bos = false,
                                     .eos = false});
    const auto reader = read_unit(
        unit, {.split = options_.split, .field = options_.field, .max_document = options_.max_document}, tokenizer);
    std::int64_t lines = 0, used = 0;
    for (Chunk chunk; !stopped_ && reader->next(chunk); chunk = {}) {
      const EncodedChunk counted = encoder.encode(chunk);
      const auto place = [&](std::int64_t at) {
        return counted.records == Records::lines ? fmt::format("{}:{}", unit.path, line_of(unit, lines + at))
                                                 : unit.path;
      };
      for (const Trouble& trouble : counted.shown)
        broken_.add(fmt::format("{}: {}", place(trouble.place), trouble.what));
      broken_.add(counted.broken - static_cast<std::int64_t>(counted.shown.size()));
      if (counted.refused) throw usage_error("corpus", "{}: {}", place(counted.refused->place), counted.refused->what);
      lines += counted.lines;
      const std::scoped_lock lock(mutex_);
      progress_.advance(reader->used() - used);
      used = reader->used();
    }
  }

  static std::int64_t line_of(const InputUnit& unit, std::int64_t line) {
    return line + (unit.begin > 0 ? lines_before(unit.path, unit.begin) : 0);
  }

  const PrepareOptions& options_;
  std::vector<InputUnit> units_{};
  std::atomic<std::size_t> next_ = 0;
  std::atomic<bool> stopped_ = false;  ///< by an error
  BrokenRecords broken_;
  std::mutex mutex_{};
  Progress progress_;
  std::exception_ptr error_{};
};

}  // namespace

WordCounter count_words(const PrepareOptions& options) {
  const InputFiles input = find_input_files(options.inputs);
  const InputPlan plan = plan_input(input, options.format, unit_bytes, {});
  for (const auto& [format, files] : plan.formats) log::info("{}: {} file{}", format, files, files == 1 ? "" : "s");
  WordCounter words = Counting(options, plan).run(options.workers > 0 ? options.workers : usable_cores());
  if (words.bytes() == 0) throw no_text(options.inputs, plan.files);
  return words;
}

}  // namespace octet
