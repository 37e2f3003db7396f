#include "src/corpus/pipeline.h"

#include <condition_variable>
#include <deque>
#include <exception>
#include <limits>
#include <list>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "src/base/progress.h"

namespace octet {
namespace {

/// A part that is worked on. `Workers` holds its lock wherever these are touched, but for what a thread has marked as
/// its own: the reader by `reading`, the writer by `writing`.
struct OpenPart {
  std::size_t part = 0;
  std::unique_ptr<PartWriter> writer{};
  std::size_t next_unit = 0;
  std::unique_ptr<ChunkReader> reader{};
  std::int64_t used = 0;  ///< of the present unit's bytes on the disk
  bool reading = false, writing = false, read_whole = false;
  std::int64_t read = 0, written = 0;  ///< chunks
  std::deque<std::pair<std::int64_t, Chunk>> raw{};
  std::map<std::int64_t, EncodedChunk> encoded{};
};

class Workers {
 public:
  Workers(const PartWork& work, const Tokenizer& tokenizer, const PipelineOptions& options)
      : work_(work), tokenizer_(tokenizer), options_(options), progress_("prepare", bytes_to_do(work)) {}

  void run() {
    std::vector<std::thread> threads;
    try {
      for (int i = 0; i < options_.workers; ++i) threads.emplace_back([this] { work_until_done(); });
    } catch (...) {  // the machine gives no more threads
      const Lock lock(mutex_);
      note_error(0);
    }
    for (std::thread& thread : threads) thread.join();
    if (error_) std::rethrow_exception(error_);
  }

 private:
  using Lock = std::unique_lock<std::mutex>;

  static std::int64_t bytes_to_do(const PartWork& work) {
    std::int64_t bytes = 0;
    for (const std::size_t part : work.todo) bytes += work.parts[part].bytes;
    return bytes;
  }

  void work_until_done() {
    Lock lock(mutex_);
    std::size_t part = std::numeric_limits<std::size_t>::max();
    try {
      ChunkEncoder encoder(tokenizer_, options_.encode);
      while (!error_ && !(next_todo_ == work_.todo.size() && open_.empty())) {
        if (!do_next(lock, encoder, part)) changed_.wait(lock);
      }
    } catch (...) {
      if (!lock.owns_lock()) lock.lock();
      note_error(part);
    }
    changed_.notify_all();
  }

  /// Does one thing; false where there is nothing to do now. `part` is the one that it is done for.
  bool do_next(Lock& lock, ChunkEncoder& encoder, std::size_t& part) {
    for (auto open = open_.begin(); open != open_.end(); ++open) {
      part = open->part;
      if (open->writing) continue;
      if (open->encoded.contains(open->written)) return write(lock, *open);
      if (open->read_whole && open->written == open->read) return finish(lock, open);
    }
    for (OpenPart& open : open_) {
      part = open.part;
      if (!open.raw.empty()) return encode(lock, open, encoder);
    }
    for (OpenPart& open : open_) {
      part = open.part;
      if (may_read(open)) return read(lock, open);
    }
    if (next_todo_ == work_.todo.size() || open_.size() >= static_cast<std::size_t>(options_.workers)) return false;
    part = work_.todo[next_todo_];
    open_.push_back({.part = part, .writer = work_.open(part)});
    ++next_todo_;
    changed_.notify_all();
    return true;
  }

  /// A part of which nothing is in flight may always be read: all others may wait for it.
  bool may_read(const OpenPart& open) const {
    const bool room = in_flight_ + options_.read.chunk_bytes <= text_in_flight(options_);
    return !open.reading && !open.read_whole && (room || open.read == open.written);
  }

  bool read(Lock& lock, OpenPart& open) {
    open.reading = true;
    in_flight_ += options_.read.chunk_bytes;
    const InputPart& part = work_.parts[open.part];
    Chunk chunk;
    lock.unlock();
    bool got = false;
    std::int64_t used = 0;
    while (!got && open.next_unit < part.units.size()) {
      const InputUnit& unit = part.units[open.next_unit];
      if (!open.reader) open.reader = read_unit(unit, options_.read, tokenizer_);
      chunk.unit = open.next_unit;
      got = open.reader->next(chunk);
      const std::int64_t now = got ? open.reader->used() : unit.end - unit.begin;
      used += now - std::exchange(open.used, now);
      if (got) break;
      open.reader.reset();
      open.used = 0;
      ++open.next_unit;
    }
    lock.lock();
    in_flight_ += static_cast<std::int64_t>(chunk.size()) - options_.read.chunk_bytes;
    progress_.advance(used);
    if (got) {
      open.raw.emplace_back(open.read++, std::move(chunk));
    } else {
      open.read_whole = true;
    }
    open.reading = false;
    changed_.notify_all();
    return true;
  }

  bool encode(Lock& lock, OpenPart& open, ChunkEncoder& encoder) {
    auto [number, chunk] = std::move(open.raw.front());
    open.raw.pop_front();
    lock.unlock();
    EncodedChunk encoded = encoder.encode(chunk);
    lock.lock();
    open.encoded.emplace(number, std::move(encoded));
    changed_.notify_all();
    return true;
  }

  bool write(Lock& lock, OpenPart& open) {
    open.writing = true;
    while (!error_ && open.encoded.contains(open.written)) {
      const EncodedChunk chunk = std::move(open.encoded.extract(open.written).mapped());
      lock.unlock();
      open.writer->write(chunk);
      lock.lock();
      ++open.written;
      in_flight_ -= static_cast<std::int64_t>(chunk.chunk_bytes);
      changed_.notify_all();
    }
    open.writing = false;
    return true;
  }

  bool finish(Lock& lock, std::list<OpenPart>::iterator open) {
    open->writing = true;
    lock.unlock();
    const PartCounts counts = open->writer->finish();
    lock.lock();
    work_.finished(open->part, counts);
    open_.erase(open);
    changed_.notify_all();
    return true;
  }

  void note_error(std::size_t part) {
    if (error_ && error_part_ <= part) return;
    error_ = std::current_exception();
    error_part_ = part;
    changed_.notify_all();
  }

  const PartWork& work_;
  const Tokenizer& tokenizer_;
  const PipelineOptions options_;
  std::mutex mutex_{};
  std::condition_variable changed_{};
  std::list<OpenPart> open_{};  ///< in the order of the parts
  std::size_t next_todo_ = 0;
  std::int64_t in_flight_ = 0;  ///< bytes of chunks that are not written yet
  Progress progress_;
  std::exception_ptr error_{};
  std::size_t error_part_ = 0;
};

}  // namespace

void work_on_parts(const PartWork& work, const Tokenizer& tokenizer, const PipelineOptions& options) {
  Workers(work, tokenizer, options).run();
}

}  // namespace octet
